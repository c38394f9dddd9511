"""Generated smoke-scale inputs that are expensive, cached under the hash of their description."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from podium.reference_runs.engine.setting import Setting


def kept_weights(
    setting: Setting, kind: str, what: tuple[object, ...], make: Callable[[], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """Weights from the cache, generated if the cache has none that `what` describes.

    Generating them may draw random numbers. The CPU generator is then restored, since a run must
    draw the same numbers with or without a cached file. Nothing is cached if the default folder
    cannot be used, such as that of a user without a home; raises RunFault if that of `--cache`
    cannot.
    """
    path = _folder(setting) / f"{kind}-{_hash(what)}.pt"
    # In Python 3.11, `is_file` raises an error for a folder that cannot be entered
    if os.path.isfile(path):
        return _read(path)
    usable = _is_usable(path.parent)
    if not usable and setting.cache is not None:
        raise RunFault(f"--cache: {setting.cache} is not a folder that podium can write to")
    state = torch.get_rng_state()
    weights = make()
    torch.set_rng_state(state)
    if not usable:
        return weights
    _keep(weights, path)
    return _read(path)


def _read(path: Path) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = torch.load(path, weights_only=True)
    return weights


def _keep(weights: dict[str, Tensor], path: Path) -> None:
    """Write a file of the cache, unless another process wrote it in the meantime.

    Processes that generate weights at the same time may differ by rounding. The first file stays,
    so that each of them, and each later run, starts from the same weights.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    torch.save(weights, draft)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        draft.replace(path)
    draft.unlink(missing_ok=True)


def _is_usable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _hash(what: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _folder(setting: Setting) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return setting.cache or Path(home).expanduser() / "podium"
