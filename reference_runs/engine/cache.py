"""What smoke scale makes once, at some cost, and keeps under the hash of what made it."""

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
    """Weights from the cache; where it has none that `what` describes, they are made.

    Making them may draw random numbers: the processor's generator is put back, as a run must draw
    the same whether or not the cache has them.
    """
    path = _place(setting, kind, what)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        state = torch.get_rng_state()
        # Ranks may make it at the same time: each has a draft, and the last rename wins
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
