"""Names of kernels, short enough for a table."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 10_000
"""Longer names are not simplified: the time grows with the square of nested parentheses."""

_COPIES = ("Memcpy", "Memset")
_RETURN_TYPE = re.compile(r"\bvoid (?=\w+::|\()")
_ANONYMOUS = re.compile(r"\((?:anonymous namespace|unnamed)\)::|<unnamed>::")
_PARENTHESES = re.compile(r"\([^()]*\)")
_LAMBDA = re.compile(r"(?:::)?\{[^{}]*\}|::operator\b|\bconst\b")
_NAMESPACES = re.compile(r"\b(?:\w+::)+(?=[A-Za-z_])")
_ARRAYS = re.compile(r", array<char\*, \d+u?l?>")
_WRAPPERS = re.compile(r"gpu_kernel_impl(?:_nocast)?<")
_SPACES = re.compile(r"\s+")


def kernel_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Names for the rows of one table: simplified, cut to a width, and distinct if possible."""
    rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in dict.fromkeys(names):
        short = _simplified(name)
        # Kernels of one template mostly differ at the end of their names
        rows[_cut(short, width, len(short))].append((name, short))
    cuts: dict[str, str] = {}
    for cut, same in rows.items():
        columns = zip(*(short for _, short in same), strict=False)
        difference = len([*takewhile(lambda column: len({*column}) == 1, columns)])
        for name, short in same:
            cuts[name] = cut if len(same) == 1 else _cut(short, width, difference)
    return cuts


def _simplified(name: str) -> str:
    """The signature of a kernel without arguments, namespaces and wrappers; others as they are."""
    if len(name) > LONGEST or name.startswith(_COPIES) or not ("<" in name or name.endswith(")")):
        return name
    short = _ANONYMOUS.sub("", _RETURN_TYPE.sub("", name))
    for pattern in (_PARENTHESES, _LAMBDA):
        while (inner := pattern.sub("", short)) != short:
            short = inner
    short = _WRAPPERS.sub("<", _ARRAYS.sub("", _NAMESPACES.sub("", short))).replace("<<", "<")
    return _SPACES.sub(" ", short).replace(" >", ">").strip() or name


def _cut(text: str, width: int, place: int) -> str:
    """The beginning of a text and the part from a place on."""
    if len(text) <= width:
        return text
    head = width * 5 // 9
    tail = width - head - 1
    start = max(head + 1, min(place - 3, len(text) - tail))
    end = text[start : start + tail]
    return f"{text[:head]}…{end}" if start + tail >= len(text) else f"{text[:head]}…{end[:-1]}…"
