"""The seeds of one log, as the official reader of 0.7 and later reads them."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec.reader.log import Fault, Log
from podium.rules.run import metadata_of

# Lines that the official reader accepts or ignores; at any other fault it stops reading the log
_HARMLESS = frozenset({Fault.GLUED, Fault.KEY, Fault.DIALECT, Fault.IGNORED, Fault.DEEP})

SeedRecord = tuple[Any, int, Any, Any]
"""A seed as logged: value, line of the log, source file and source line (None if absent)."""


class SeededRun(msgspec.Struct, frozen=True):
    """The seeds of one log. `broken` is the reason why the official reader rejects it, if any."""

    path: str
    seeds: tuple[SeedRecord, ...]
    broken: str = ""
    broken_line: int | None = None


def seeded_run(log: Log, path: str) -> SeededRun:
    """The seeds in one log, as the official reader of 0.7 and later reads them."""
    # The official seed check reads only the lines of 0.7 and later
    if log.generation != "mllog":
        return SeededRun(path, ())
    seeds = []
    for index, record in enumerate(log.records):
        if record.key == "seed":
            metadata = metadata_of(record)
            source = metadata.get("file"), metadata.get("lineno")
            seeds.append((record.value, log.line(index), *source))
    for fault in log.faults:
        # The official reader ignores lines without the token
        if fault.kind not in _HARMLESS and not fault.is_stray:
            return SeededRun(path, tuple(seeds), fault.message, log.line_of(fault))
    return SeededRun(path, tuple(seeds))
