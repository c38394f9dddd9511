"""Source files that logs name: which lines they have, and which lines mention a seed.

All that the logs ask of the files of one name is gathered first, so that each file is read once,
and only answers are kept.
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
"""Bytes; lines of source files beyond are taken to exist."""

LARGEST_SOURCE = 4 << 20
"""Bytes of a source file that are read for what stands around a line."""

NEAR = 5
"""Lines before and after one that count as near it: a call may be written on several."""

_BLOCK = 1 << 16


class Question(msgspec.Struct):
    """What logs name of the source files of one name: the last line, and the lines of seeds."""

    last: int = 0
    seeds: set[int] = msgspec.field(default_factory=set)


class Answer(msgspec.Struct):
    """What the source files of one name have: any of them may be meant.

    `lines` counts those of the longest file, at least as far as was asked. `seedless` are lines
    that all files have, and near which none mentions a seed.
    """

    lines: float
    seedless: set[int]


def answers(questions: Mapping[str, Question], code: Code, reader: FileReader) -> dict[str, Answer]:
    """What the files of a submission answer, by their names; nothing of names that none has."""
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
            # What cannot be read is taken to have every line
            answer = Answer(math.inf, set())
            continue
        if answer.lines < question.last:
            answer.lines = max(answer.lines, _count(file, head, question.last))
        if answer.seedless:
            answer.seedless = _seedless(file, head, answer.seedless)
    return answer


def _count(file: Item, head: bytes, enough: int) -> float:
    """The lines of a file, counted until there are enough."""
    lines, read, last = head.count(b"\n"), len(head), head[-1:]
    if lines >= enough or read < HEAD:
        return lines + (last not in (b"\n", b""))
    try:
        with open_plain(file.full) as stream:
            stream.seek(read)
            while lines < enough:
                block = stream.read(_BLOCK)
                if not block:
                    # The last line may have no line end
                    return lines + (last != b"\n")
                lines, read, last = lines + block.count(b"\n"), read + len(block), block[-1:]
                if read >= FURTHEST:
                    return math.inf
    except OSError:
        return math.inf
    return lines


def _seedless(file: Item, head: bytes, asked: Iterable[int]) -> set[int]:
    """The lines of those asked that a file has, and near which it does not mention a seed."""
    lines = (head if len(head) < HEAD else _more(file, head)).lower().splitlines()
    return {
        lineno
        for lineno in asked
        if 0 < lineno <= len(lines)
        and not any(b"seed" in line for line in lines[max(0, lineno - 1 - NEAR) : lineno + NEAR])
    }


def _more(file: Item, head: bytes) -> bytes:
    """The beginning of a file that is longer than what the scanners look at."""
    try:
        with open_plain(file.full) as stream:
            stream.seek(len(head))
            return head + stream.read(LARGEST_SOURCE - len(head))
    except OSError:
        return b""
