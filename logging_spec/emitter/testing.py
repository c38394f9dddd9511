"""For tests of training programs: a logger that writes to memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium.logging_spec.emitter.emit import Logger
from podium.logging_spec.reader.read import parse_log

if TYPE_CHECKING:
    from podium.logging_spec.reader.record import Record


class MemorySink:
    """A sink that keeps its lines; `records` reads them as the checker would."""

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
        """Nothing ever fails here."""

    def sync(self) -> None:
        """Memory has no disk."""

    def close(self) -> None:
        """Stay readable."""


def capture(**options: Any) -> tuple[Logger, MemorySink]:
    """A logger of rank 0, and what it writes to. `options` are those of Logger."""
    sink = MemorySink()
    return Logger(sink, **({"rank": 0} | options)), sink
