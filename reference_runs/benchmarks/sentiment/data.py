"""Reviews: texts with opinions and negators at smoke scale, otherwise IMDB."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.sentiment.model import OTHER, PAD
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.sentiment.config import Sentiment
    from podium.reference_runs.engine.samples import DatasetSize

OPINIONS, NEGATORS = 30, 3
"""Words of each sentiment, and words that invert the next opinion."""
SHORTEST, LONGEST = 20, 60
DENSITY, AGREEMENT, NEGATED = 0.1, 0.93, 0.35
"""Share of opinions among words; of these, that match the label; that follow a negator."""
LANGUAGE_SEED = 25


@dataclass(frozen=True)
class Reviews:
    """Texts as word indices, and whether each is positive."""

    texts: Sequence[NDArray[np.int32]]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Texts padded to the longest, (B, L), and labels, (B,)."""
        texts = [self.texts[index] for index in indices]
        padded_BL = np.full((len(texts), max(1, *map(len, texts))), PAD, np.int64)
        for row, text in zip(padded_BL, texts, strict=True):
            row[: len(text)] = text
        return torch.from_numpy(padded_BL), torch.from_numpy(self.labels[list(indices)])

    def shuffled(self, seed: int) -> Reviews:
        """The same texts with the labels of others."""
        return Reviews(self.texts, np.random.default_rng(seed).permutation(self.labels))


def synthetic(config: Sentiment, seed: int) -> tuple[Reviews, Reviews]:
    """Training texts by seed, and evaluation texts, which are the same for every seed."""
    training = write(config.train_samples, config.vocabulary, np.random.default_rng([seed, 0x5E0]))
    fixed = np.random.default_rng(LANGUAGE_SEED)
    return training, write(config.eval_samples, config.vocabulary, fixed)


def write(count: int, vocabulary: int, rng: np.random.Generator) -> Reviews:
    """Texts in which an opinion after a negator means the opposite.

    A third of all opinions do, so counting words is not sufficient: a filter must see both words.
    """
    meaning = np.random.default_rng(LANGUAGE_SEED).permutation(vocabulary - 2) + 2
    neutral = meaning[2 * OPINIONS + NEGATORS :]
    shape = (count, LONGEST)
    labels = rng.integers(0, 2, count)
    words = neutral[rng.integers(0, len(neutral), shape)]
    opinion = rng.random(shape) < DENSITY
    opinion[:, 0] = False  # leave room for a negator before each
    opinion[:, 2:] &= ~opinion[:, 1:-1]
    opinion[:, 5] |= ~opinion[:, 1:SHORTEST].any(1)  # each text has one
    negated = opinion & (rng.random(shape) < NEGATED)
    fits = rng.random(shape) < AGREEMENT
    favourable = (labels[:, None] == 1) == fits
    chosen = rng.integers(0, OPINIONS, shape) + OPINIONS * (favourable ^ negated)
    words = np.where(opinion, meaning[chosen], words)
    negator = meaning[2 * OPINIONS + rng.integers(0, NEGATORS, shape)]
    words[:, :-1] = np.where(negated[:, 1:], negator[:, :-1], words[:, :-1])
    lengths = rng.integers(SHORTEST, LONGEST + 1, count)
    rows = zip(words.astype(np.int32), lengths, strict=True)
    return Reviews([row[:length] for row, length in rows], labels)


_WORD = re.compile(r"[a-z0-9']+")


def from_files(folder: Path, vocabulary: int, expected: DatasetSize) -> tuple[Reviews, Reviews]:
    """IMDB's reviews, one per file; raises DataMissing for an unexpected number of reviews.

    The vocabulary is the training reviews' most frequent words.
    """
    train, test = (
        (_read(folder / part / "neg"), _read(folder / part / "pos")) for part in ("train", "test")
    )
    expected.check_training(folder / "train", sum(map(len, train)), "reviews in neg and pos")
    expected.check_evaluation(folder / "test", sum(map(len, test)), "reviews in neg and pos")
    counts = Counter(chain.from_iterable(chain(*train)))
    # Ties are broken by the word: the vocabulary must not depend on the order of files
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[: vocabulary - 2]
    number = {word: index for index, word in enumerate(frequent, OTHER + 1)}
    return _numbered(*train, number), _numbered(*test, number)


def _read(folder: Path) -> list[list[str]]:
    """The words of each review in a folder."""
    return [_words(path) for path in sorted(folder.glob("*.txt"))]


def _words(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8").lower()
    except (OSError, UnicodeError) as error:
        raise DataMissing(f"{path} cannot be read: {error}") from None
    # The reviews contain HTML line breaks, which are not words
    return _WORD.findall(text.replace("<br />", " "))


def _numbered(
    against: Iterable[list[str]], in_favour: Iterable[list[str]], number: dict[str, int]
) -> Reviews:
    texts, labels = [], []
    for label, words in chain(((0, text) for text in against), ((1, text) for text in in_favour)):
        texts.append(np.array([number.get(word, OTHER) for word in words], dtype=np.int32))
        labels.append(label)
    return Reviews(texts, np.array(labels, dtype=np.int64))
