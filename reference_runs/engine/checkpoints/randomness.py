"""The generators of random numbers: of a run, of each rank, and in checkpoints."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.engine.ranks import Ranks

    State = tuple[torch.Tensor, torch.Tensor | None]
    """Of the processor's generator, and of the accelerator's."""


def seed_everything(seed: int) -> None:
    """Seed each generator of random numbers that a task may use."""
    random.seed(seed)
    # NumPy's old generator takes 32 bits
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def seed_rank(seed: int, ranks: Ranks, step: int = 0) -> None:
    """Give each rank its own dropout, once all have built the same model.

    Ranks along `tp` keep theirs in common: what they do not divide, each computes.
    """
    index = ranks.number // (1 if ranks.mesh is None else ranks.mesh["tp"].size())
    # The first goes on with the generator that has built the model
    if index or step:
        words = np.random.SeedSequence([seed, index, step]).generate_state(1, np.uint64)
        torch.manual_seed(int(words[0]))


def states(ranks: Ranks) -> list[State]:
    """The generators of each rank; to be called by all of them."""
    cuda = ranks.device.type == "cuda"
    on_device = torch.cuda.get_rng_state(ranks.device) if cuda else None
    return ranks.gather((torch.get_rng_state(), on_device))


def restore(saved: Sequence[State], ranks: Ranks) -> None:
    """Continue with the generators of a checkpoint of as many ranks."""
    on_processor, on_device = saved[ranks.number]
    torch.set_rng_state(on_processor)
    if on_device is not None:
        torch.cuda.set_rng_state(on_device, ranks.device)
