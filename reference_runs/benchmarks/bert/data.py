"""Pairs of texts with masked words, drawn from a synthetic language.

Dimensions: B batch, L sequence length, M masked words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.bert.config import Bert
    from podium.reference_runs.modeling.language.corpus import Language

SPECIAL = 4
"""Special ids at the end of the synthetic vocabulary: beginning, separator, mask, and padding,
which no synthetic sequence has."""
MASKED, REPLACED = 0.8, 0.9
"""Of the words to predict, eight in ten are masked, one is replaced, one is unchanged."""


class Batch(NamedTuple):
    """Sequences and their targets."""

    tokens: Tensor
    """(B, L)."""
    segments: Tensor
    """0 for the first text and 1 for the second, (B, L)."""
    attended: Tensor
    """False for padding, (B, L)."""
    positions: Tensor
    """Positions of the words to predict, (B, M)."""
    targets: Tensor
    """The target words; UNSCORED if there are fewer than M, (B, M)."""
    unrelated: Tensor
    """1 if the second text does not follow the first, else 0, (B,)."""


class Pairs(torch.utils.data.Dataset[Batch]):
    """Sequences in memory: an array for each part of a batch."""

    def __init__(self, *parts: NDArray[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        return Batch(*(torch.from_numpy(part[list(indices)]) for part in self.parts))


def pairs(language: Language, config: Bert, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of texts; in half of them the second is from another sentence."""
    length, words = config.max_sequence_length, config.vocabulary - SPECIAL
    begin, separator, mask = range(words, words + 3)
    first = (length - 3) // 2
    sentences = language.sentences(count, length - 3, rng)
    unrelated = rng.integers(0, 2, count)
    others = np.roll(sentences[:, first:], 1, axis=0)
    second = np.where(unrelated[:, None] == 1, others, sentences[:, first:])
    begins, ends = (np.full((count, 1), token) for token in (begin, separator))
    tokens = np.concatenate((begins, sentences[:, :first], ends, second, ends), axis=1)
    segments = np.broadcast_to(np.arange(length) > first + 1, tokens.shape).astype(np.int64)
    places = np.delete(np.arange(length), (0, first + 1, length - 1))
    chosen = rng.permuted(np.tile(places, (count, 1)), axis=1)
    positions = np.sort(chosen[:, : config.max_predictions_per_seq], axis=1)
    rows = np.arange(count)[:, None]
    targets, draws = tokens[rows, positions], rng.random(positions.shape)
    other = rng.integers(0, words, positions.shape)
    tokens[rows, positions] = np.where(
        draws < MASKED, mask, np.where(draws < REPLACED, other, targets)
    )
    attended = np.ones_like(tokens, bool)
    return Pairs(tokens, segments, attended, positions, targets, unrelated)


def synthetic(language: Language, config: Bert, seed: int) -> tuple[Pairs, Pairs]:
    """Training pairs drawn by `seed`, and the evaluation pairs that all seeds share."""
    training = pairs(language, config, config.train_samples, np.random.default_rng([seed, 0xBE]))
    if config.shuffled_labels:
        *inputs, targets, unrelated = training.parts
        rng = np.random.default_rng([seed, 0xBF])
        shuffled = rng.permuted(targets.reshape(-1)).reshape(targets.shape)
        training = Pairs(*inputs, shuffled, rng.permutation(unrelated))
    evaluation = pairs(language, config, config.eval_samples, np.random.default_rng(0xBE77))
    return training, evaluation
