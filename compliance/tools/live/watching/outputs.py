"""The outputs of a watch: a live page, plain lines, or JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from podium.compliance.reporting.console import print_text, width
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.live.watching.page import (
    BLOCKS,
    PLAIN_BLOCKS,
    _minutes,
    detail,
    finding_text,
    page,
    projection,
)
from podium.compliance.tools.live.watching.status import Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SCHEMA = "podium.watch/1"


class Output(Protocol):
    """Shows statuses as they change."""

    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        """Show the statuses; `changed`: a log has grown since the last time."""

    def close(self) -> None:
        """Restore the terminal."""


class Live:
    """A page that is redrawn in place."""

    def __init__(self, console: Console, *, plain: bool) -> None:
        from rich.live import Live as RichLive

        self.console, self.plain = console, plain
        # Without a thread of rich; the page is removed at the end, because the report replaces it
        self.live = RichLive(
            console=console, auto_refresh=False, transient=True, vertical_overflow="crop"
        )
        self.live.start()

    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        size = self.console.size
        # A page as high as the terminal would scroll at its last line end
        lines = page(statuses, max(40, size.width), max(4, size.height - 1), plain=self.plain)
        self.live.update(self._text(lines), refresh=True)

    def _text(self, lines: Sequence[tuple[str, str]]) -> Text:
        from rich.text import Text

        text = Text(no_wrap=True, overflow="crop", end="")
        for line, style in lines:
            text.append(line + "\n", style or None)
        return text

    def close(self) -> None:
        self.live.stop()


class Plain:
    """A line for each event."""

    def __init__(self) -> None:
        self.printed: dict[str, _Printed] = {}

    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        for status in statuses:
            printed = self.printed.get(status.path)
            # Fewer records than before: a new run has started in the same file
            if printed is None or status.records < printed.records:
                restarted = [] if printed is None else ["restarted"]
                printed = self.printed[status.path] = _Printed()
            else:
                restarted = []
            for news in (*restarted, *printed.news(status)):
                print_text("\n".join(wrap(clean(f"{status.path}: {news}"), width())) + "\n")
        # Buffered output to a pipe would reach its reader late
        _flush()

    def close(self) -> None:
        pass


class _Printed:
    """The printed state of one log."""

    def __init__(self) -> None:
        self.phase, self.problem = "", ""
        self.evaluations = self.findings = self.records = 0

    def news(self, status: Status) -> Iterator[str]:
        self.records = status.records
        if status.problem and status.problem != self.problem:
            yield status.problem
        self.problem = status.problem
        yield from self._evaluations(status)
        # A guard only adds findings, so a count identifies the new ones
        for finding in status.findings[self.findings :]:
            yield finding_text(finding)
        self.findings = len(status.findings)
        if status.phase != self.phase:
            self.phase = status.phase
            yield _phase_news(status)

    def _evaluations(self, status: Status) -> Iterator[str]:
        for number, point in enumerate(status.points[self.evaluations :], self.evaluations + 1):
            quality = "" if point.quality is None else f": {point.quality:.5g}"
            position = f"{point.position:,.10g} {status.unit}"
            yield f"evaluation {number} at {position}, {point.minutes:.1f} min{quality}"
        if len(status.points) > self.evaluations and status.forecast is not None:
            yield f"projected: {projection(status)}"
        self.evaluations = len(status.points)


def _phase_news(status: Status) -> str:
    if status.phase == "stopped":
        return f"stopped, {status.status or 'no status'}, after {_minutes(status.run_minutes)}"
    words = {
        "waiting": "waiting for its first record",
        "preparing": "records, but no init_start yet",
        "init": "initialising",
        "ready": f"initialized in {_minutes(status.init_minutes)}",
        "running": f"running; target {status.target}" if status.target else "running",
    }
    return words[status.phase]


class Json:
    """One JSON document on a line for each change."""

    def __init__(self, rules: dict[str, str]) -> None:
        self.rules = rules

    def show(self, statuses: Sequence[Status], changed: bool) -> None:
        if changed:
            print_text(json_text(document(statuses, self.rules), indent=None))
            _flush()

    def close(self) -> None:
        pass


def document(statuses: Sequence[Status], rules: dict[str, str]) -> dict[str, object]:
    """The statuses as JSON data."""
    logs = [status.to_dict() for status in statuses]
    return {"schema": SCHEMA, "rules": rules, "done": False, "logs": logs}


def print_page(statuses: Sequence[Status], *, plain: bool) -> None:
    """Print the status of every log in full."""
    blocks = PLAIN_BLOCKS if plain else BLOCKS
    for number, status in enumerate(statuses):
        lines = [line for line, _ in detail(status, width(), blocks)]
        print_text("\n".join([*[""] * bool(number), *lines]) + "\n")
    _flush()


def _flush() -> None:
    sys.stdout.flush()
