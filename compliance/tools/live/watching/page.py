"""Lines about watched runs, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.compliance.judging.logs.consequences import Causes, mark_consequences
from podium.compliance.text.terminal import clean, columns, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.live.watching.status import Status
from podium.rules.finding import Finding, Severity

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = "_.-=+*%#"

SPARKS = 24
"""Evaluations in the sparkline: the last ones."""

MOST_FINDINGS = 8
"""Maximum findings listed of one run: the most severe and the latest."""

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_LABEL, _BODY = 13, " " * 15

Line = tuple[str, str]
"""Text and its style."""


def sparkline(values: Sequence[float | None], blocks: str = BLOCKS) -> str:
    """A small plot of the last values, scaled from lowest to highest, with gaps for no number."""
    # NaN and infinities have no height: their difference from themselves is NaN
    recent = [v if v is not None and v - v == 0 else None for v in values][-SPARKS:]
    numbers = [value for value in recent if value is not None]
    if not numbers:
        return ""
    low, span = min(numbers), max(numbers) - min(numbers)
    top = len(blocks) - 1

    def block(value: float | None) -> str:
        if value is None:
            return " "
        return blocks[round((value - low) / span * top) if span else top // 2]

    return "".join(map(block, recent))


def page(statuses: Sequence[Status], width: int, height: int, *, plain: bool = False) -> list[Line]:
    """All runs, in full if there is room, else on one line each."""
    blocks = PLAIN_BLOCKS if plain else BLOCKS
    full = [line for status in statuses for line in (*detail(status, width, blocks), ("", ""))]
    if len(full) <= height:
        return full[:-1]
    rows = [row(status, width, blocks) for status in statuses]
    free_lines = height - len(rows) - 1
    worst = [line for s in statuses for line in _findings(s, width) if s.findings]
    return [*rows[:height], *([("", ""), *worst[:free_lines]] if free_lines > 2 and worst else [])]


def row(status: Status, width: int, blocks: str = BLOCKS) -> Line:
    """One run on one line."""
    facts = [_phase(status), _minutes(status.run_minutes or status.init_minutes)]
    if status.points:
        facts.append(plural(len(status.points), "evaluation"))
        facts.append(f"{_quality(status)} {sparkline([p.quality for p in status.points], blocks)}")
    errors = sum(finding.severity is Severity.ERROR for finding in _own(status))
    facts.append(plural(errors, "error") if errors else "")
    text = "  ".join(fact for fact in facts if fact)
    room = max(8, width - columns(text) - 2)
    name = clean(status.path)
    name = name if columns(name) <= room else "…" + name[-(room - 1) :]
    line = f"{name:<{min(room, 24)}}  {text}"
    return line[:width], "bold red" if errors else ""


def detail(status: Status, width: int, blocks: str = BLOCKS) -> Iterator[Line]:
    """One run in full."""
    subject = ", ".join(part for part in (status.benchmark, status.division) if part)
    head = "  ".join(part for part in (clean(status.path), _phase(status), clean(subject)) if part)
    for line in wrap(head, width, "", "  "):
        yield line, "bold"
    if status.problem:
        yield from _wrapped("problem", status.problem, width, "bold red")
    for label, text in _facts(status, blocks):
        if text:
            yield from _wrapped(label, text, width)
    yield from _findings(status, width)


def _facts(status: Status, blocks: str) -> Iterator[tuple[str, str]]:
    limit = f" of {status.init_limit:g} min allowed" if status.init_limit else ""
    if status.init_minutes is not None:
        yield "init", f"{_minutes(status.init_minutes)}{limit}"
    yield "run", _minutes(status.run_minutes)
    yield "projected", projection(status)
    if status.points or status.next_due is not None:
        yield "evaluations", _evaluations(status)
    if status.points:
        plot = sparkline([point.quality for point in status.points], blocks)
        target = f"target {status.target}" if status.target else ""
        yield "quality", "  ".join(part for part in (_quality(status), plot, target) if part)
    yield "reference", reference(status)
    missing = [entry.key for entry in status.missing if not entry.too_late]
    yield "missing", ", ".join(missing)
    yield "too late", "; ".join(status.lost)


def _phase(status: Status) -> str:
    if status.phase == "stopped" and status.status:
        return f"stopped: {clean(status.status)}"
    return status.phase


def _minutes(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f} min"


def _quality(status: Status) -> str:
    last = status.points[-1].quality
    return "" if last is None else f"{last:.5g}"


def _evaluations(status: Status) -> str:
    parts = [str(len(status.points))]
    if status.points:
        parts.append(f"last at {_count(status.points[-1].position)} {status.unit}")
    if status.reached is not None:
        parts.append(f"target reached at {_count(status.reached)}")
    elif status.next_due is not None:
        parts.append(f"next due at {_count(status.next_due)}")
    return ", ".join(parts)


def projection(status: Status) -> str:
    """The forecast end of the run and its basis."""
    if status.forecast is None:
        return ""
    ends = status.forecast
    return f"{ends.minutes:,.1f} min, at {_count(ends.position)} {status.unit}: {ends.how}"


def reference(status: Status) -> str:
    """The comparison of the run with the reference at its batch size."""
    expected = status.expected
    if expected.mean is None or expected.minimum is None:
        return expected.reason if status.points else ""
    text = (
        f"{_count(expected.mean)} {expected.unit} on average at batch size "
        f"{_count(expected.batch_size or 0)}; the mean of {expected.runs} runs at least "
        f"{_count(expected.minimum)}"
    )
    if status.margin is None:
        return text
    side = "above" if status.margin >= 0 else "below"
    subject = "this run" if status.reached is not None else "as projected, this run"
    return f"{text}: {subject} is {_count(abs(status.margin))} {side} that"


def _count(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.5g}"


def finding_text(finding: Finding) -> str:
    """A finding as one sentence."""
    position = "" if finding.line is None else f"line {finding.line}: "
    # Values of a log may contain control characters
    return clean(f"{finding.severity.value}: {position}{finding.message} [{finding.id}]")


def _own(status: Status) -> list[Finding]:
    """The findings that are not consequences."""
    marked = mark_consequences(status.findings, Causes())
    return [finding for finding in marked if not finding.caused_by]


def _findings(status: Status, width: int) -> Iterator[Line]:
    ordered = sorted(_own(status), key=lambda finding: _RANK[finding.severity])
    styles = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
    for finding in ordered[:MOST_FINDINGS]:
        for line in wrap(finding_text(finding), width, "  ", "    "):
            yield line, styles[finding.severity]
    surplus = len(ordered) - MOST_FINDINGS
    if surplus > 0:
        yield f"  and {surplus} more", ""


def _wrapped(label: str, text: str, width: int, style: str = "") -> Iterator[Line]:
    for line in wrap(clean(text), width, f"  {label:<{_LABEL}}", _BODY):
        yield line, style
