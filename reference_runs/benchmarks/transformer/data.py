"""Sentence pairs: a toy language pair at smoke scale, WMT17 by sub-words else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.transformer.model import END, PAD
from podium.reference_runs.benchmarks.transformer.subwords import Subwords
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.transformer.config import Transformer
    from podium.reference_runs.engine.samples import DatasetSize

Ids = list["NDArray[np.int32]"]

NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS, ARTICLES, GENDERS = 28, 12, 10, 5, 4, 2, 3
LANGUAGE_SEED = 17


@dataclass(frozen=True)
class Pairs:
    """Sentences in two languages as token ids, and what turns ids back into text."""

    source: Ids
    target: Ids
    text: Callable[[Iterable[int]], str]

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Pairs by index, each side padded, with END behind its last word: (B, S), (B, L)."""
        return padded([self.source[i] for i in indices]), padded([self.target[i] for i in indices])

    def lengths(self) -> NDArray[np.int64]:
        """The longer side of each pair."""
        pairs = zip(self.source, self.target, strict=True)
        return np.array([max(len(source), len(target)) for source, target in pairs])

    def shuffled(self, seed: int) -> Pairs:
        """The same sentences with wrong translations."""
        order = np.random.default_rng(seed).permutation(len(self))
        return Pairs(self.source, [self.target[at] for at in order], self.text)


def padded(sentences: Sequence[NDArray[np.int32]]) -> Tensor:
    """Sentences of different lengths as one array, (B, L)."""
    array = np.full((len(sentences), max(map(len, sentences)) + 1), PAD, np.int64)
    for row, sentence in zip(array, sentences, strict=True):
        row[: len(sentence)] = sentence
        row[len(sentence)] = END
    return torch.from_numpy(array)


class Languages:
    """Two toy languages with one grammar each and a dictionary between them.

    The first says: article (adjective) noun verb article (adjective) noun (preposition article
    (adjective) noun) (adverb). The second puts the adverb first, adjectives behind their nouns,
    the object behind the preposition's phrase, the verb last; its articles agree with the gender
    of the noun that follows. No word-by-word model can translate that.
    """

    def __init__(self) -> None:
        counts = (NOUNS, VERBS, ADJECTIVES, ADVERBS, PREPOSITIONS, ARTICLES)
        starts = np.cumsum([END + 1, *counts])
        self.nouns, self.verbs, self.adjectives, self.adverbs, self.prepositions = starts[:5]
        self.articles, self.second = starts[5], starts[6]
        rng = np.random.default_rng(LANGUAGE_SEED)
        self.gender = rng.integers(0, GENDERS, NOUNS)
        size = self.second - self.nouns + ARTICLES * (GENDERS - 1)
        self.names = rng.permutation(size) + self.second
        self.size = int(self.second + size)

    def pairs(self, count: int, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """So many sentences and their translations."""
        phrases = [self._phrase(count, rng) for _ in range(3)]
        verb = self.verbs + rng.integers(0, VERBS, count)
        adverb = self._kept_at_random(0.5, self.adverbs + rng.integers(0, ADVERBS, count), rng)
        preposition = self.prepositions + rng.integers(0, PREPOSITIONS, count)
        without = rng.random(count) < 0.6
        preposition[without] = PAD
        phrases[2][:, without] = PAD
        source = (*phrases[0], verb, *phrases[1], preposition, *phrases[2], adverb)
        first, second, third = (self._translated_phrase(phrase) for phrase in phrases)
        words = (self._translated(word) for word in (adverb, preposition, verb))
        adverb, preposition, verb = words
        target = (adverb, *first, preposition, *third, *second, verb)
        return _without_gaps(source), _without_gaps(target)

    def _phrase(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Article, adjective or nothing, noun: (3, count)."""
        adjective = self.adjectives + rng.integers(0, ADJECTIVES, count)
        article = self.articles + rng.integers(0, ARTICLES, count)
        noun = self.nouns + rng.integers(0, NOUNS, count)
        return np.stack((article, self._kept_at_random(0.5, adjective, rng), noun))

    def _translated_phrase(self, phrase: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """A phrase of the second language: article by gender, noun, adjective."""
        article, adjective, noun = phrase
        there = noun != PAD
        gender = self.gender[np.where(there, noun - self.nouns, 0)]
        form = article - self.articles + ARTICLES * gender
        forms = self.names[np.where(there, self.articles - self.nouns + form, 0)]
        return np.where(there, forms, PAD), self._translated(noun), self._translated(adjective)

    def _translated(self, word: NDArray[np.int64]) -> NDArray[np.int64]:
        """Words of the second language; no word stays none."""
        there = word != PAD
        return np.where(there, self.names[np.where(there, word - self.nouns, 0)], PAD)

    def _kept_at_random(
        self, share: float, words: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        return np.where(rng.random(len(words)) < share, words, PAD)


def _without_gaps(words: Sequence[NDArray[np.int64]]) -> Ids:
    rows = np.stack(words, axis=1).astype(np.int32)
    return [row[row != PAD] for row in rows]


def synthetic(vocabulary: int, counts: tuple[int, int], seed: int) -> tuple[Pairs, Pairs]:
    """Training pairs by seed, and the evaluation pairs, which are the same for every seed."""
    languages = Languages()
    if languages.size > vocabulary:
        raise DataMissing(f"vocabulary is {vocabulary}; the toy languages have {languages.size}")
    training = languages.pairs(counts[0], np.random.default_rng([seed, 0x5E0]))
    evaluation = languages.pairs(counts[1], np.random.default_rng(LANGUAGE_SEED))
    return Pairs(*training, _as_tokens), Pairs(*evaluation, _as_tokens)


def _as_tokens(ids: Iterable[int]) -> str:
    return " ".join(f"w{word}" for word in ids)


def from_files(
    folder: Path, config: Transformer, expected: DatasetSize
) -> tuple[Pairs, Pairs, list[str]]:
    """WMT17's pairs to train on, newstest2014 to evaluate on, and its translations as they stand.

    Raises DataMissing where a file is absent or holds another number of sentences than wanted.
    """
    path, longest = folder / "vocabulary.txt", config.max_sequence_length
    subwords = Subwords.read(path)
    if len(subwords.pieces) > config.vocabulary:
        raise DataMissing(
            f"{path} holds {len(subwords.pieces)} sub-words; expected {config.vocabulary}"
        )
    source, target = ([*map(subwords.ids, side)] for side in _sides(folder, "train"))
    kept = [
        pair
        for pair in zip(source, target, strict=True)
        if min(map(len, pair)) > 0 and max(map(len, pair)) < longest
    ]
    where = f"{folder / 'train'}.en and .de"
    expected.check_training(where, len(kept), f"pairs below {longest} sub-words")
    tests = _sides(folder, "newstest2014")
    expected.check_evaluation(f"{folder / 'newstest2014'}.en", len(tests[0]), "lines")
    training = Pairs([pair[0] for pair in kept], [pair[1] for pair in kept], subwords.text)
    first, second = ([*map(subwords.ids, lines)] for lines in tests)
    return training, Pairs(first, second, subwords.text), tests[1]


def _sides(folder: Path, part: str) -> tuple[list[str], list[str]]:
    """The lines of both languages, as many of each."""
    first, second = (folder / f"{part}.{language}" for language in LANGUAGES)
    source, target = read_lines(first), read_lines(second)
    if len(source) != len(target):
        raise DataMissing(f"{second} holds {len(target)} lines; {first.name} holds {len(source)}")
    return source, target


LANGUAGES = ("en", "de")


def read_lines(path: Path) -> list[str]:
    """A file's lines; raises DataMissing."""
    try:
        # Only a line feed ends a line: Unicode's other separators stand within sentences
        with path.open(encoding="utf-8", newline="\n") as stream:
            text = stream.read()
    except (OSError, UnicodeError) as error:
        raise DataMissing(f"{path} cannot be read: {error}") from None
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []
