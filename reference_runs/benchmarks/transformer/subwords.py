"""Text as sub-words of a given vocabulary: the longest piece first, word by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_RUNS = re.compile(r"[^\W_]+|[\W_]+")
_ESCAPED = re.compile(r"\\u|\\\\|\\(\d+);")


@dataclass(frozen=True)
class Subwords:
    r"""A vocabulary whose pieces end in `_` at a word's end, as in the benchmark's file.

    A word is a sequence of letters and digits, or of other characters; a single space between two
    sequences of letters is implicit. `\` and `_` of the text are `\\` and `\u`, and a character
    without a piece is its number: `\8364;`.
    """

    pieces: tuple[str, ...]
    number: Mapping[str, int]
    longest: int

    @classmethod
    def read(cls, path: Path) -> Subwords:
        """One piece per line, quoted or not; raises DataMissing."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            raise DataMissing(f"{path} cannot be read: {error}") from None
        pieces = tuple(_unquoted(line) for line in lines)
        if not pieces:
            raise DataMissing(f"{path} is empty; expected one sub-word per line")
        number = {piece: index for index, piece in enumerate(pieces)}
        return cls(pieces, number, max(map(len, pieces)))

    def ids(self, text: str) -> NDArray[np.int32]:
        """The text's pieces by index."""
        numbers = [number for word in words(text) for number in self._word(word)]
        return np.array(numbers, dtype=np.int32)

    def _word(self, word: str) -> list[int]:
        escaped = word.replace("\\", "\\\\").replace("_", "\\u") + "_"
        numbers, begin = [], 0
        while begin < len(escaped):
            for end in range(min(len(escaped), begin + self.longest), begin, -1):
                if escaped[begin:end] in self.number:
                    numbers.append(self.number[escaped[begin:end]])
                    begin = end
                    break
            else:
                spelt = f"\\{ord(escaped[begin])};"
                numbers += [self.number[letter] for letter in spelt if letter in self.number]
                begin += 1
        return numbers

    def text(self, ids: Iterable[int]) -> str:
        """The text of some pieces."""
        joined = "".join(self.pieces[index] for index in ids if index < len(self.pieces))
        return joined_words([_ESCAPED.sub(_unescaped, word) for word in joined.split("_") if word])


def words(text: str) -> list[str]:
    """Sequences of letters and digits, or of other characters, without the implicit spaces."""
    runs = _RUNS.findall(text.strip())
    return [
        run for index, run in enumerate(runs) if run != " " or index == 0 or index == len(runs) - 1
    ]


def joined_words(parts: Sequence[str]) -> str:
    """The inverse of `words`."""
    text = ""
    for before, part in zip(("", *parts), parts, strict=False):
        gap = bool(before) and before[-1:].isalnum() and part[:1].isalnum()
        text += (" " if gap else "") + part
    return text


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(min(int(match[1]), 0x10FFFF))
    return "_" if match[0] == "\\u" else "\\"


def _unquoted(line: str) -> str:
    quoted = len(line) > 1 and line[0] == line[-1] and line[0] in "'\""
    return line[1:-1] if quoted else line
