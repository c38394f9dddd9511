"""WMT16's sentences, already split into pieces by byte-pair encoding."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.beams import END
from podium.reference_runs.modeling.translation import Pairs, read_lines, read_sides

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.gnmt.config import Gnmt
    from podium.reference_runs.engine.samples import DatasetSize

MARKS = 4
"""Special tokens: padding and end come first, unknown and begin last."""
VOCABULARY, TRAINING = "vocab.bpe.32000", "train.tok.clean.bpe.32000"
SOURCE, REFERENCES = "newstest2014.tok.bpe.32000.en", "newstest2014.de"


@dataclass(frozen=True)
class Pieces:
    """Word pieces; those that do not end a word end with `@@`."""

    pieces: list[str]
    ids: dict[str, int]
    unknown: int

    @classmethod
    def read(cls, path: Path, vocabulary: int) -> Pieces:
        """Read a file of pieces, one per line; raises DataMissing if there are too many."""
        pieces = [line.strip() for line in read_lines(path)]
        if len(pieces) > vocabulary - MARKS:
            raise DataMissing(
                f"{path} contains {len(pieces)} pieces; expected at most {vocabulary - MARKS}"
            )
        return cls(
            pieces, {piece: token for token, piece in enumerate(pieces, END + 1)}, vocabulary - 2
        )

    def tokens(self, line: str) -> NDArray[np.int32]:
        """The ids of a line's pieces."""
        return np.array([self.ids.get(piece, self.unknown) for piece in line.split()], np.int32)

    def text(self, ids: Iterable[int]) -> str:
        """The sentence of some pieces, without special tokens."""
        places = (token - END - 1 for token in ids)
        pieces = (self.pieces[place] for place in places if 0 <= place < len(self.pieces))
        return detokenized(f"{' '.join(pieces)} ".replace("@@ ", "").strip())


ATTACHED = (
    (re.compile(r" ?@-@ ?"), "-"),
    (re.compile(r" ([.,!?:;%)\]}\u201c\u2019])"), r"\1"),
    (re.compile(r"([(\[{\u201e\u00bf\u00a1]) "), r"\1"),
    (re.compile(r"\" ([^\"]*) \""), r'"\1"'),
    (re.compile(r" '(s|S|re|ve|ll|m|d|t)\b"), r"'\1"),
)
"""Separated tokens, and their form in text."""


def detokenized(text: str) -> str:
    """A tokenized sentence as normal text, mostly as by Moses' detokenizer."""
    text = html.unescape(text)
    for pattern, replacement in ATTACHED:
        text = pattern.sub(replacement, text)
    return text


def from_files(folder: Path, config: Gnmt, expected: DatasetSize) -> tuple[Pairs, Pairs, list[str]]:
    """WMT16's pairs for training; newstest2014 for evaluation, with its reference translations.

    Raises DataMissing if a file is missing or has another number of sentences.
    """
    pieces = Pieces.read(folder / VOCABULARY, config.vocabulary)
    source, target = ([*map(pieces.tokens, side)] for side in read_sides(folder, TRAINING))
    kept = [
        pair
        for pair in zip(source, target, strict=True)
        if min(map(len, pair)) > 0 and max(map(len, pair)) <= config.max_sequence_length
    ]
    where = f"{folder / TRAINING}.en and .de"
    expected.check_training(where, len(kept), f"pairs of at most {config.max_sequence_length}")
    first = [*map(pieces.tokens, read_lines(folder / SOURCE))]
    references = read_lines(folder / REFERENCES)
    if len(first) != len(references):
        raise DataMissing(
            f"{folder / REFERENCES} has {len(references)} lines; {SOURCE} has {len(first)}"
        )
    expected.check_evaluation(folder / SOURCE, len(first), "lines")
    training = Pairs([pair[0] for pair in kept], [pair[1] for pair in kept], pieces.text)
    # The lengths of translations are not known in advance
    return training, Pairs(first, first, pieces.text), references
