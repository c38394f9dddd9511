"""Many findings as readable text: a table of submissions, then a block for each cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from podium.compliance.reporting.grouping import Group, by_submission
from podium.compliance.reporting.placing import places_of
from podium.compliance.reporting.render.paint import Paint, painted
from podium.compliance.reporting.render.words import (
    excused,
    following_text,
    often,
    remarks_of,
    spot,
    submission_table,
    times,
)
from podium.compliance.text.terminal import clean, clip, columns, wrap, wrap_path
from podium.compliance.text.words import plural
from podium.rules.finding import Severity

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome

MOST_LINES = 225
"""Maximum lines of groups and tables; with more findings there is less detail."""

MOST_SUBMISSIONS = 120
"""Maximum rows of the table of submissions."""

MOST_EXCUSED = 12
"""Maximum listed groups that do not count."""

EVERYTHING = "podium check --full prints every finding; --format html writes a page"

_BODY = " " * 9
_MOST_LINES_NAMED = 5
_MOST_VALUES = 4
_WIDEST_VALUE = 24
_MOST_RULES = 8
_MANY_KEYS = 3


class Detail(IntEnum):
    """The detail of groups of one severity."""

    BLOCK = 0  # places, an example with its help, the source
    LINE = 1  # one line for each group
    COUNT = 2  # one line for each submission
    NOTHING = 3  # only the numbers in the table of submissions


Details = tuple[Detail, Detail, Detail, Detail]

_B, _L, _C, _N = Detail.BLOCK, Detail.LINE, Detail.COUNT, Detail.NOTHING

LADDER: tuple[Details, ...] = (
    (_B, _B, _B, _B),
    (_B, _B, _B, _L),
    (_B, _B, _L, _L),
    (_B, _B, _L, _C),
    (_B, _L, _L, _C),
    (_L, _L, _L, _C),
    (_L, _L, _C, _C),
    (_C, _C, _C, _C),
    (_N, _N, _N, _N),
)
"""The detail of errors, of other findings that the verifier rejects, of warnings and notes."""


def grouped_lines(
    report: Outcome, groups: Sequence[Group], width: int, paint: Paint
) -> Iterator[str]:
    """The table and the groups in lines of at most `width` columns, at most MOST_LINES.

    The first step of LADDER that fits determines the detail of each severity.
    """
    head = [*_submissions(report, width, paint)]
    if not groups:
        yield from head
        return
    page = _Grouped(report, groups, width, paint)
    foot = [*page.excused()]
    room = MOST_LINES - len(head) - len(foot)
    for details in LADDER:
        body = [*islice(page.sections(details), max(room, 0) + 1)]
        if len(body) <= room:
            break
    is_complete = details == LADDER[0] and all(_is_whole(group) for group in groups)
    parts = [head, body, foot, [] if is_complete else wrap(EVERYTHING, width)]
    yield from _with_gaps([part for part in parts if part])


def _is_whole(group: Group) -> bool:
    return len(group.findings) == 1 and not group.following and not group.excuse


def _with_gaps(parts: Iterable[Sequence[str]]) -> Iterator[str]:
    for index, part in enumerate(parts):
        if index:
            yield ""
        yield from part


class _Grouped:
    def __init__(self, report: Outcome, groups: Sequence[Group], width: int, paint: Paint) -> None:
        self.report, self.width, self.paint = report, width, paint
        self.open = [group for group in groups if not group.excuse]
        self.apart = [group for group in groups if group.excuse]

    def sections(self, details: Details) -> Iterator[str]:
        """The groups of each submission, below its name."""
        if details[0] is Detail.NOTHING:
            return
        needs_blank = False
        for submission, groups in by_submission(self.open):
            lines = self.section(groups, details)
            first = next(lines, None)
            if first is None:
                continue
            if needs_blank:
                yield ""
            needs_blank = True
            if len(self.report.submissions) > 1:
                name = clean(submission) + "/" if submission else "outside submissions"
                yield from wrap_path(name, self.width)
                yield ""
            yield first
            yield from lines

    def section(self, groups: Sequence[Group], details: Details) -> Iterator[str]:
        writers: dict[Detail, Callable[[Sequence[Group]], Iterator[str]]] = {
            Detail.BLOCK: self.blocks,
            Detail.LINE: self.lines,
            Detail.COUNT: self.count,
        }
        previous: Detail | None = None
        for order, detail in enumerate(details):
            selection = [group for group in groups if _order(group) == order]
            if not selection:
                continue
            if previous is not None and Detail.BLOCK in (previous, detail):
                yield ""
            previous = detail
            yield from writers[detail](selection)

    def blocks(self, groups: Sequence[Group]) -> Iterator[str]:
        for index, group in enumerate(groups):
            if index:
                yield ""
            yield from self.block(group)

    def block(self, group: Group) -> Iterator[str]:
        """A cause in full: its places, an example, and the fix."""
        first, severity = group.first, group.first.severity.value
        head = f"[{clean(first.id)}]"
        if len(group.findings) > 1:
            head += f"  {often(group)}"
        yield from painted(wrap(head, self.width, f"{severity:<9}", _BODY), severity, self.paint)
        yield from self.places(group)
        message = clean(first.message)
        yield from self.body(message if group.alike else f"for example: {message}")
        if values := group.values():
            yield from self.body(f"values: {_values(values)}")
        for label, text in remarks_of(group):
            yield from wrap(f"{label}: {clean(text)}", self.width, _BODY, _BODY + "  ")
        if group.following:
            yield from self.body(following_text(group))

    def places(self, group: Group) -> Iterator[str]:
        """The places of a group: one place with its line, or patterns and the first place."""
        lines = [finding.line for finding in group.findings if finding.line is not None]
        if group.files == 1:
            ellipsis = ", …" if len(lines) > _MOST_LINES_NAMED else ""
            line_list = ", ".join(map(str, lines[:_MOST_LINES_NAMED]))
            path = clean(group.first.path) or "."
            yield from self.path(f"{path}:{line_list}{ellipsis}" if lines else path)
            return
        patterns = places_of(finding.path for finding in group.findings)
        for pattern in patterns[:3]:
            yield from self.path(clean(pattern.pattern) or ".")
        if len(patterns) > 3:
            yield from self.body(f"and {sum(len(pattern.paths) for pattern in patterns[3:])} more")
        if group.first.line is not None or any("*" in pattern.pattern for pattern in patterns):
            yield from self.path(f"first {spot(group.first)}")

    def lines(self, groups: Sequence[Group]) -> Iterator[str]:
        """One line for each cause; one line for a rule that many keys violate."""
        rules: dict[str, list[Group]] = {}
        for group in groups:
            rules.setdefault(group.first.id, []).append(group)
        for rule_groups in rules.values():
            keys = {clean(group.first.key or "") for group in rule_groups}
            if len(rule_groups) < _MANY_KEYS or len(keys) < len(rule_groups) or "" in keys:
                for group in rule_groups:
                    yield from self.line(group, clean(group.first.message))
            else:
                merged = replace(
                    rule_groups[0],
                    findings=tuple(finding for group in rule_groups for finding in group.findings),
                )
                yield from self.line(merged, ", ".join(sorted(keys)))

    def line(self, group: Group, text: str) -> list[str]:
        severity = group.first.severity.value
        head = f"{severity:<9}{clean(group.first.id)}  {times(group)}"
        return self.one_line(head + text, severity)

    def count(self, groups: Sequence[Group]) -> Iterator[str]:
        """One line for all causes of a severity: the rules, starting with the most findings."""
        severity = groups[0].first.severity.value
        rules: Counter[str] = Counter()
        for group in groups:
            rules[group.first.id] += len(group.findings)
        rule_list = [f"{clean(rule)} ({count})" for rule, count in rules.most_common(_MOST_RULES)]
        number = plural(rules.total(), "finding")
        if _order(groups[0]) == _OFFICIAL:
            number += " that the official verifier rejects"
        text = f"{severity:<9}{number}: {', '.join(rule_list)}"
        yield from self.one_line(text + ", …" * (len(rules) > _MOST_RULES), severity)

    def excused(self) -> Iterator[str]:
        """The causes that do not count, one line each, below titles."""
        needs_blank = False
        for title, groups in excused(self.apart, lambda group: group.excuse):
            if needs_blank:
                yield ""
            needs_blank = True
            yield from wrap(f"{title}, not counted in the verdict:", self.width)
            yield from self.lines(groups[:MOST_EXCUSED])
            if len(groups) > MOST_EXCUSED:
                remainder = plural(len(groups) - MOST_EXCUSED, "more rule")
                yield from wrap(f"and {remainder}", self.width, _BODY)

    # --- lines ---

    def one_line(self, text: str, word: str) -> list[str]:
        return painted([clip(text, self.width)], word, self.paint)

    def body(self, text: str) -> list[str]:
        return wrap(text, self.width, _BODY, _BODY)

    def path(self, text: str) -> list[str]:
        return wrap_path(text, self.width, _BODY, _BODY + "  ")


_OFFICIAL = 1


def _order(group: Group) -> int:
    """The index of the detail of a group in LADDER."""
    severity = group.first.severity
    if severity is Severity.ERROR:
        return 0
    if group.official:
        return _OFFICIAL
    return 2 if severity is Severity.WARNING else 3


def _values(values: Sequence[tuple[str, int]]) -> str:
    parts = [
        f"{clip(clean(value), _WIDEST_VALUE)} ({count})" for value, count in values[:_MOST_VALUES]
    ]
    omitted = len(values) - _MOST_VALUES
    return ", ".join(parts) + (f" and {omitted} more" if omitted > 0 else "")


def _submissions(report: Outcome, width: int, paint: Paint) -> Iterator[str]:
    if not report.submissions:
        return
    heads, rows = submission_table(report)
    yield from _table(heads, rows[:MOST_SUBMISSIONS], width, paint)
    if len(rows) > MOST_SUBMISSIONS:
        remainder = plural(len(rows) - MOST_SUBMISSIONS, "more submission")
        yield from wrap(f"and {remainder}", width)


_Row = tuple[str, ...]


def _table(heads: _Row, rows: Sequence[_Row], width: int, paint: Paint) -> Iterator[str]:
    """Columns with two spaces between them; the first is cut if the line is too narrow."""
    widths = [max(map(columns, column)) for column in zip(heads, *rows, strict=True)]
    room = width - sum(column + 2 for column in widths[1:])
    if room < min(widths[0], 12):
        # Too narrow for columns: one line for each submission
        for row in rows:
            yield clip(f"{row[2].upper()}  {row[0]}", width)
        return
    widths[0] = min(widths[0], room)
    for row in (heads, *rows):
        name = clip(row[0], widths[0])
        cells = [name + " " * (widths[0] - columns(name))]
        for head, cell, wide in zip(heads[1:], row[1:], widths[1:], strict=True):
            number = head in _NUMBERS
            pad = " " * (wide - columns(cell))
            cells.append(pad + cell if number else paint(cell) + pad)
        yield "  ".join(cells).rstrip()


_NUMBERS = {"results", "errors", "warnings"}
