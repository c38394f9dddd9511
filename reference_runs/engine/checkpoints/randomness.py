"""The random generators of a run and of each rank, and their state in checkpoints."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.engine.ranks import Ranks

    State = tuple[torch.Tensor, torch.Tensor | None]
    """State of the CPU generator, and of the accelerator's."""


def seed_everything(seed: int) -> None:
    """Seed every random generator that a task may use."""
    random.seed(seed)
    # NumPy's legacy generator accepts 32 bits
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def seed_rank(seed: int, ranks: Ranks, step: int = 0) -> None:
    """Seed each rank's dropout separately, after all have built the same model.

    Ranks along `sp` and `tp` share a generator, since each computes the undivided parts.
    """
    # The two innermost axes
    alike = 1 if ranks.mesh is None else ranks.mesh["sp"].size() * ranks.mesh["tp"].size()
    index = ranks.number // alike
    # Rank 0 continues with the generator that built the model
    if index or step:
        words = np.random.SeedSequence([seed, index, step]).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))


def states(ranks: Ranks) -> list[State]:
    """The generator states of all ranks; every rank must call this."""
    cuda = ranks.device.type == "cuda"
    on_device = torch.cuda.get_rng_state(ranks.device) if cuda else None
    return ranks.gather((torch.get_rng_state(), on_device))


def restore(saved: Sequence[State], ranks: Ranks) -> None:
    """Restore the generators from a checkpoint of the same number of ranks."""
    on_processor, on_device = saved[ranks.number]
    torch.set_rng_state(on_processor)
    if on_device is not None:
        torch.cuda.set_rng_state(on_device, ranks.device)
