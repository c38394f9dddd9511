"""Generated smoke-scale inputs that are expensive, cached under the hash of their description."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from podium.reference_runs.engine.setting import Setting


def kept_weights(
    setting: Setting, kind: str, what: tuple[object, ...], make: Callable[[], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """Weights from the cache, generated if the cache has none that `what` describes.

    Generating them may draw random numbers. The CPU generator is then restored, since a run must
    draw the same numbers with or without a cached file.
    """
    path = _place(setting, kind, what)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        state = torch.get_rng_state()
        # Ranks may generate it at the same time: each writes a draft, and the last rename wins
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        torch.save(make(), draft)
        draft.replace(path)
        torch.set_rng_state(state)
    weights: dict[str, Tensor] = torch.load(path, weights_only=True)
    return weights


def _place(setting: Setting, kind: str, what: tuple[object, ...]) -> Path:
    name = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = setting.cache or Path(home).expanduser() / "podium"
    return folder / f"{kind}-{name}.pt"
