"""Source files that logs name: how many lines they have, and which lines mention a seed.

All questions about the files with one name are gathered first, so that each file is read once, and
only the answers are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from podium.compliance.judging.inputs.listing import Item
from podium.compliance.judging.inputs.source_files import Code, open_plain
from podium.compliance.judging.repository.contents import FileReader
from podium.compliance.judging.repository.secrets import HEAD

FURTHEST = 64 << 20
"""Bytes of a source file in which lines are counted; later lines are assumed to exist."""

LARGEST_SOURCE = 4 << 20
"""Bytes of a source file that are read for the text around a line."""

NEAR = 5
"""Lines before and after a line that are near it: a call may span several lines."""

_BLOCK = 1 << 16


class Question(msgspec.Struct):
    """A question about the source files with one name: the last line, and the lines of seeds."""

    last: int = 0
    seeds: set[int] = msgspec.field(default_factory=set)


class Answer(msgspec.Struct):
    """The answer about the source files with one name: the log may mean any of them.

    `lines` is the number of lines of the longest file, or at least the last line of the question.
    `seedless` are the lines that all files have, and near which none mentions a seed.
    """

    lines: float
    seedless: set[int]


def answers(questions: Mapping[str, Question], code: Code, reader: FileReader) -> dict[str, Answer]:
    """Answers from the files of a submission, by name; names without a file have no answer."""
    return {
        name: _answer(question, map(code.file, code.files[name]), reader)
        for name, question in questions.items()
        if name in code.files
    }


def _answer(question: Question, files: Iterable[Item | None], reader: FileReader) -> Answer:
    answer = Answer(0, question.seeds)
    for file in files:
        if answer.lines >= question.last and not answer.seedless:
            break
        head = None if file is None else reader.beginning(file)
        if file is None or head is None:
            # A file that cannot be read is assumed to have every line
            answer = Answer(math.inf, set())
            continue
        if answer.lines < question.last:
            answer.lines = max(answer.lines, _count(file, head, question.last))
        if answer.seedless:
            answer.seedless = _seedless(file, head, answer.seedless)
    return answer


def _count(file: Item, head: bytes, limit: int) -> float:
    """The lines of a file, counted until there are enough."""
    lines, offset, last = head.count(b"\n"), len(head), head[-1:]
    if lines >= limit or offset < HEAD:
        return lines + (last not in (b"\n", b""))
    try:
        with open_plain(file.full) as stream:
            stream.seek(offset)
            while lines < limit:
                block = stream.read(_BLOCK)
                if not block:
                    # The last line may have no newline
                    return lines + (last != b"\n")
                lines, offset, last = lines + block.count(b"\n"), offset + len(block), block[-1:]
                if offset >= FURTHEST:
                    return math.inf
    except OSError:
        return math.inf
    return lines


def _seedless(file: Item, head: bytes, line_numbers: Iterable[int]) -> set[int]:
    """The lines in question that a file has, and near which it does not mention a seed."""
    lines = (head if len(head) < HEAD else _more(file, head)).lower().splitlines()
    return {
        lineno
        for lineno in line_numbers
        if 0 < lineno <= len(lines)
        and not any(b"seed" in line for line in lines[max(0, lineno - 1 - NEAR) : lineno + NEAR])
    }


def _more(file: Item, head: bytes) -> bytes:
    """The beginning of a file, when it is longer than the part that the scanners read."""
    try:
        with open_plain(file.full) as stream:
            stream.seek(len(head))
            return head + stream.read(LARGEST_SOURCE - len(head))
    except OSError:
        return b""
