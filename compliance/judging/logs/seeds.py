"""The seeds of one log, as the official reader of 0.7 and later takes them."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec.reader.log import Fault, Log
from podium.rules.run import metadata_of

# Lines that the official reader takes or passes over; at any other fault it gives up the log
_HARMLESS = frozenset({Fault.GLUED, Fault.KEY, Fault.DIALECT, Fault.IGNORED, Fault.DEEP})

SeedRecord = tuple[Any, int, Any, Any]
"""A seed as logged: value, line of the log, source file and source line (None: not given)."""


class SeededRun(msgspec.Struct, frozen=True):
    """The seeds of one log. `broken` says why the official reader refuses the log, if it does."""

    path: str
    seeds: tuple[SeedRecord, ...]
    broken: str = ""
    broken_line: int | None = None


def seeded_run(log: Log, path: str) -> SeededRun:
    """What one log says of its seeds, as the official reader of 0.7 and later takes it."""
    # The official seed check knows only the lines of 0.7 and later
    if log.generation != "mllog":
        return SeededRun(path, ())
    seeds = []
    for index, record in enumerate(log.records):
        if record.key == "seed":
            metadata = metadata_of(record)
            source = metadata.get("file"), metadata.get("lineno")
            seeds.append((record.value, log.line(index), *source))
    for fault in log.faults:
        # The official reader does not look at lines without the token
        if fault.kind not in _HARMLESS and not fault.is_stray:
            return SeededRun(path, tuple(seeds), fault.message, log.line_of(fault))
    return SeededRun(path, tuple(seeds))
