"""Token sequences of a synthetic language with a grammar, for smoke scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.modeling.language.config import DecoderConfig

CLASSES, SUCCESSORS, STARTS = 12, 6, 8
SHARPNESS = 0.07
"""Dirichlet concentration: small values make one successor likely, so that entropy is low."""


class Language:
    """A random language: tokens have classes, and two consecutive classes decide the successors.

    A model must use two tokens and learn their classes; unigram statistics are not sufficient.
    """

    def __init__(self, vocabulary: int, seed: int, noise: float = 0.03) -> None:
        rng = np.random.default_rng([seed, 0x1A46])
        self.noise = noise
        self.class_of = rng.permutation(np.arange(vocabulary) % CLASSES)
        shape = (CLASSES, CLASSES, SUCCESSORS)
        self.successors = rng.integers(0, vocabulary, shape)
        weights = rng.dirichlet(np.full(SUCCESSORS, SHARPNESS), shape[:2])
        # No successor is certain: every context keeps some entropy.
        self.cumulative = np.cumsum((1 - noise) * weights + noise / SUCCESSORS, axis=-1)

    def changed(self, share: float, seed: int) -> Language:
        """A language in which a share of the contexts has other successors."""
        other = Language(len(self.class_of), seed, self.noise)
        other.class_of = self.class_of
        kept = np.random.default_rng([seed, 0xC4A]).random((CLASSES, CLASSES)) >= share
        other.successors = np.where(kept[..., None], self.successors, other.successors)
        other.cumulative = np.where(kept[..., None], self.cumulative, other.cumulative)
        return other

    def renamed(self, share: float, seed: int) -> Language:
        """A language in which a share of the tokens have permuted ids."""
        other = Language(len(self.class_of), seed, self.noise)
        rng = np.random.default_rng([seed, 0xC4B])
        chosen = np.flatnonzero(rng.random(len(self.class_of)) < share)
        number = np.arange(len(self.class_of))
        number[chosen] = rng.permutation(chosen)
        other.class_of = np.empty_like(self.class_of)
        other.class_of[number] = self.class_of
        other.successors = number[self.successors]
        other.cumulative = self.cumulative
        return other

    def sentences(self, count: int, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `count` token sequences, (count, length)."""
        tokens = np.empty((count, length), dtype=np.int64)
        tokens[:, :2] = rng.integers(0, STARTS, (count, 2))
        for position in range(2, length):
            context = self.class_of[tokens[:, position - 2]], self.class_of[tokens[:, position - 1]]
            drawn = rng.random(count)[:, None]
            # Rounding may leave the last sum just below 1
            choice = (self.cumulative[context] < drawn).sum(-1).clip(max=SUCCESSORS - 1)
            tokens[:, position] = self.successors[(*context, choice)]
        return tokens


class Batch(NamedTuple):
    """Token ids (B, L), and their targets; UNSCORED for positions without a loss."""

    tokens: Tensor
    targets: Tensor


UNSCORED = -100
"""The target of a position without a loss (torch's `ignore_index`)."""


class Sequences(torch.utils.data.Dataset[Batch]):
    """Generated sequences with one token more than the model reads, (N, L + 1).

    `prompts` (N,) is the number of initial tokens of each that are not scored.
    """

    def __init__(self, tokens: NDArray[np.int64], prompts: NDArray[np.int64] | None = None) -> None:
        self.tokens, self.prompts = tokens, prompts

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        rows = self.tokens[list(indices)]
        tokens, targets = rows[:, :-1], rows[:, 1:].copy()
        if self.prompts is not None:
            position = np.arange(1, rows.shape[1])
            targets[position < self.prompts[list(indices), None]] = UNSCORED
        return Batch(torch.from_numpy(tokens), torch.from_numpy(targets))


def synthetic(language: Language, config: DecoderConfig, seed: int) -> tuple[Sequences, Sequences]:
    """Training sequences drawn from `seed`, and the evaluation sequences that all seeds share."""
    length = config.max_sequence_length + 1
    training = language.sentences(config.train_samples, length, np.random.default_rng([seed, 0x5E]))
    evaluation = language.sentences(config.eval_samples, length, np.random.default_rng(0xE7A1))
    if config.shuffled_labels:  # the tokens of each sentence in random order
        training = np.random.default_rng([seed, 0x5F]).permuted(training, axis=1)
    return Sequences(training), Sequences(evaluation)


LANGUAGE_SEED = 31
"""Seed of the language: all runs learn the same one, from different sentences."""
