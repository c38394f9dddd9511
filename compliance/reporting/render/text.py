"""The report for a terminal: faults and their places, then counts and verdicts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.grouping import (
    Group,
    OneMessage,
    excuse_of,
    groups_of,
    merged,
)
from podium.compliance.reporting.render.grouped import MOST_LINES, grouped_lines
from podium.compliance.reporting.render.paint import Paint, painted, painter
from podium.compliance.reporting.render.words import (
    Groups,
    added,
    excused,
    facts_of,
    following_text,
    grouped,
    official,
    passes,
    plugged,
    remarks,
    spot,
    strictness,
    summary,
    verdict_of,
)
from podium.compliance.text.terminal import clean, wrap, wrap_path
from podium.compliance.text.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from podium.compliance.reporting.data import FileEntry, Outcome
    from podium.rules.finding import Finding

NARROWEST = 20
"""Minimum columns of a line."""

MOST_OF_ONE_FILE = 40
"""Maximum findings of a single file that are listed individually."""

MOST_NAMED = 20
"""Maximum submissions named in a brief report."""

_BODY = " " * 11
_FACTS = " " * 6
_WIDE = " " * 9


def render(
    report: Outcome,
    width: int = 80,
    color: bool = False,
    quiet: bool = False,
    full: bool = False,
    one_message: OneMessage = lambda _: False,
) -> str:
    """Render the report as text of at most `width` columns (20 at least).

    Findings are grouped by submission and cause; those of a single file are listed. `full` lists
    all findings of every file. `quiet` prints each cause once for all submissions. `color` colors
    severities and verdicts for a terminal. See `groups_of` for `one_message`.
    """
    page = _Page(max(width, NARROWEST), painter(color))
    paths = {entry.path for entry in report.files} | {finding.path for finding in report.findings}
    if full:
        lines = [*page.by_file(report)]
    elif quiet:
        lines = page.briefly(report, merged(report, one_message))
    elif len(paths) == 1 and len(report.findings) <= MOST_OF_ONE_FILE:
        # Listed individually, so that the rules need not be loaded for their templates
        lines = [*page.by_file(report, groups_of(report))]
    else:
        groups = groups_of(report, one_message)
        lines = [*grouped_lines(report, groups, page.width, page.paint)]
    if lines:
        lines.append("")
    if full or quiet:
        lines += page.submissions(report, MOST_NAMED if quiet else None)
    lines += wrap(summary(report), page.width)
    lines += wrap(passes(report), page.width) if report.files or report.results else []
    lines += page.verdict(report)
    return "\n".join(lines) + "\n"


class _Page(msgspec.Struct):
    width: int
    paint: Paint
    # Thousands of logs tend to break the same rule in the same way
    bodies: dict[tuple[object, ...], list[str]] = {}
    behind: dict[int, Group] = {}

    def by_file(self, report: Outcome, groups: Sequence[Group] = ()) -> Iterator[str]:
        """All findings by file; with groups, consequences are printed after their cause."""
        following = {id(finding) for group in groups for finding in group.following}
        self.behind = {id(group.findings[-1]): group for group in groups if group.following}
        entries = {entry.path: entry for entry in report.files}
        listed_findings = [finding for finding in report.findings if id(finding) not in following]
        open_ = grouped(finding for finding in listed_findings if not finding.waived)
        # A single file is always named; of many files, only those with findings
        if len(report.files) == 1:
            open_ = {report.files[0].path: [], **open_}
        yield from self.files(open_, entries)
        needs_blank = bool(open_)
        for title, waived in excused(listed_findings, excuse_of):
            yield from [""] * needs_blank
            yield from wrap(f"{title}, not counted in the verdict:", self.width)
            yield ""
            yield from self.files(grouped(waived), entries)
            needs_blank = True

    def files(self, groups: Groups, entries: dict[str, FileEntry]) -> Iterator[str]:
        for index, (path, findings) in enumerate(groups.items()):
            if index:
                yield ""
            entry = entries.get(path)
            yield from self.header(path, verdict_of(entry, findings), facts_of(entry))
            name = clean(path.rpartition("/")[2] or path) or "."
            for finding in findings:
                yield from self.finding(finding, name)

    def header(self, path: str, verdict: str, facts: str) -> Iterator[str]:
        path = clean(path) or "."
        lines = wrap_path(path, self.width, f"{verdict}  ", _FACTS)
        if facts:
            joined = f"{lines[0]}  ({facts})"
            if len(lines) == 1 and wrap(joined, self.width) == [joined]:
                lines = [joined]
            else:
                lines += wrap(facts, self.width, _FACTS, _FACTS)
        yield from painted(lines, verdict, self.paint)

    def finding(self, finding: Finding, name: str) -> Iterator[str]:
        location = name if finding.line is None else f"{name}:{finding.line}"
        severity = finding.severity.value
        head = f"{location}  [{clean(finding.id)}]"
        if finding.waived:
            head, severity = f"{head}  ({severity})", "waived"
        yield from painted(wrap(head, self.width, f"  {severity:<9}", _BODY), severity, self.paint)
        yield from self.body(finding)
        if group := self.behind.get(id(finding)):
            yield from wrap(following_text(group), self.width, _BODY, _BODY)

    def body(self, finding: Finding) -> list[str]:
        said_by = (finding.stated_by, finding.official)
        fault = (finding.message, finding.hint, finding.cites, *said_by)
        lines = self.bodies.get(fault)
        if lines is None:
            lines = wrap(clean(finding.message), self.width, _BODY, _BODY)
            for label, text in remarks(finding):
                lines += wrap(f"{label}: {clean(text)}", self.width, _BODY, _BODY + "  ")
            self.bodies[fault] = lines
        return lines

    def briefly(self, report: Outcome, groups: Sequence[Group]) -> list[str]:
        """Each cause once, in the length of a page."""
        lines = [*islice(self.by_rule(groups), MOST_LINES + 1)]
        if len(lines) <= MOST_LINES:
            return lines
        table_free = replace(report, submissions=())
        return [*grouped_lines(table_free, groups, self.width, self.paint)]

    def by_rule(self, groups: Iterable[Group]) -> Iterator[str]:
        """Each cause once, with its count and its first place."""
        for group in groups:
            first = group.first
            severity = "waived" if group.excuse else first.severity.value
            head = f"[{clean(first.id)}]" + (f"  ({first.severity.value})" if group.excuse else "")
            yield from painted(
                wrap(head, self.width, f"{severity:<9}", _WIDE), severity, self.paint
            )
            yield from wrap(clean(first.message), self.width, _WIDE, _WIDE)
            yield from self.occurrences(group)

    def occurrences(self, group: Group) -> list[str]:
        location = spot(group.first)
        number = len(group.findings)
        if number == 1:
            return wrap_path(location, self.width, f"{_WIDE}in ", _WIDE)
        intro = f"{number} times in {plural(group.files, 'file')}, first in"
        lines = wrap_path(f"{intro} {location}", self.width, _WIDE)
        if len(lines) == 1:
            return lines
        return [
            *wrap(intro, self.width, _WIDE, _WIDE),
            *wrap_path(location, self.width, _WIDE, _WIDE),
        ]

    def submissions(self, report: Outcome, limit: int | None) -> Iterator[str]:
        for entry in report.submissions[:limit]:
            verdict = entry.verdict.upper()
            lines = wrap(clean(entry.submitter), self.width, f"{verdict}  ", " " * 10)
            yield from painted(lines, verdict, self.paint)
        if limit is not None and len(report.submissions) > limit:
            remainder = plural(len(report.submissions) - limit, "more submission")
            yield from wrap(f"and {remainder}", self.width)
        if report.submissions:
            yield ""

    def verdict(self, report: Outcome) -> Iterator[str]:
        """The verdict of each judge; the last line is the conclusion."""
        for line in plugged(report):
            yield from wrap(line, self.width)
        if report.not_judged:
            yield from wrap(f"not checked: {report.not_judged}", self.width)
        official_verdict = official(report)
        if official_verdict:
            yield from wrap(official_verdict, self.width)
        if report.verdict == "not judged":
            number = len(report.findings)
            count_text = plural(number, "finding") if number else "no finding"
            yield from wrap(f"{count_text} of the selected rules", self.width)
        elif report.exit_status and (reason := strictness(report) or added(report)):
            yield from wrap(reason, self.width)
        conclusion = headline(report)
        yield from painted(wrap(conclusion, self.width), conclusion.partition(" ")[0], self.paint)
