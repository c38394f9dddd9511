"""For tests of training programs: a logger that writes to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.logging_spec.emitter.emit import Logger
from podium.logging_spec.reader.read import parse_log

if TYPE_CHECKING:
    from podium.logging_spec.reader.record import Record


class MemorySink:
    """A sink that keeps its lines; `records` reads them like the checker."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @property
    def records(self) -> list[Record]:
        """The records of the lines."""
        return parse_log("".join(self.lines).encode()).records

    def write(self, line: bytes) -> None:
        """Keep one line."""
        self.lines.append(line.decode("ascii"))

    def retry(self) -> None:
        """Do nothing: writes to memory do not fail."""

    def sync(self) -> None:
        """Do nothing: memory has no disk."""

    def close(self) -> None:
        """Stay readable."""


def capture(**options: Any) -> tuple[Logger, MemorySink]:
    """A logger of rank 0 and its sink. `options` are the options of Logger."""
    sink = MemorySink()
    return Logger(sink, **({"rank": 0} | options)), sink
