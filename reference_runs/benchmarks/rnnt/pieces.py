"""Text as word pieces: the split with the best sum of scores, as in a unigram model.

Source: Kudo, Subword Regularization (2018), section 3.2, with Viterbi's algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SPACE = "\u2581"
"""Represents the space before each word, including the first."""


@dataclass(frozen=True)
class Pieces:
    """Word pieces by index, with their log probabilities."""

    names: tuple[str, ...]
    scores: Mapping[str, float]

    @classmethod
    def letters(cls, letters: str) -> Pieces:
        """Each letter is a piece, and so is the space."""
        names = (SPACE, *letters)
        return cls(names, dict.fromkeys(names, 0.0))

    @classmethod
    def read(cls, path: Path, count: int) -> Pieces:
        """Read `count` lines of a piece, a tab and a score; raises DataMissing."""
        try:
            rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
            scores = {name: float(score) for name, score in rows}
        except (OSError, ValueError) as error:
            raise DataMissing(f"{path} cannot be read as pieces with scores: {error}") from None
        if len(scores) != count:
            raise DataMissing(f"{path} contains {len(scores)} pieces; expected {count}")
        return cls(tuple(scores), scores)

    def ids(self, text: str) -> list[int]:
        """The pieces of a text; letters without a piece are dropped."""
        spelt = "".join(SPACE + word for word in text.split())
        longest = max(map(len, self.names))
        best: list[tuple[float, int]] = [(0.0, 0)]  # score of the text so far, and its last cut
        for end in range(1, len(spelt) + 1):
            # A single letter is always allowed, so that every text has a split
            ways = [(best[end - 1][0] + UNKNOWN, end - 1)]
            for begin in range(max(0, end - longest), end):
                score = self.scores.get(spelt[begin:end], -math.inf)
                ways.append((best[begin][0] + score, begin))
            best.append(max(ways))
        return self._cut(spelt, [cut for _, cut in best])

    def _cut(self, spelt: str, cuts: list[int]) -> list[int]:
        number = {name: index for index, name in enumerate(self.names)}
        numbers, end = [], len(spelt)
        while end:
            piece = spelt[cuts[end] : end]
            if piece in number:
                numbers.append(number[piece])
            end = cuts[end]
        return numbers[::-1]

    def text(self, ids: Sequence[int]) -> str:
        """The text of some pieces."""
        return " ".join("".join(self.names[index] for index in ids).replace(SPACE, " ").split())


UNKNOWN = -100.0
"""Score of a letter without a piece: worse than any split that covers the text."""
