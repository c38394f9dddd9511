"""Weights that smoke scale makes once, and keeps for the runs that follow."""

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

SEED = 31
"""Of the weights: they are the same for every run."""


def kept_weights(
    setting: Setting, what: tuple[object, ...], make: Callable[[], dict[str, Tensor]]
) -> dict[str, Tensor]:
    """What `make` gives, kept in a file of the cache; `what` is all that it depends on."""
    path = _place(what, setting)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Ranks may make it at the same time: each has a draft, and the last rename wins
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        torch.save(_seeded(make), draft)
        draft.replace(path)
    weights: dict[str, Tensor] = torch.load(path, weights_only=True)
    return weights


def _place(what: tuple[object, ...], setting: Setting) -> Path:
    name = hashlib.sha256(repr(what).encode()).hexdigest()[:16]
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = setting.cache or Path(home).expanduser() / "podium"
    return folder / f"base-{name}.pt"


def _seeded(make: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    # Put back below: a run must draw the same whether or not the base was in the cache
    state = torch.get_rng_state()
    # Only the processor's generator: a GPU's would stand elsewhere than if the base was there.
    torch.default_generator.manual_seed(SEED)
    made = make()
    torch.set_rng_state(state)
    return made
