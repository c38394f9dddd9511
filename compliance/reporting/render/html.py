"""The report as one HTML page, which loads nothing and is readable without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.grouping import (
    Group,
    OneMessage,
    by_submission,
    groups_of,
)
from podium.compliance.reporting.pages.templates import (
    SCRIPT,
    STYLE,
    environment,
    joined,
    page_policy,
)
from podium.compliance.reporting.render.words import (
    excused,
    following_text,
    judges,
    often,
    passes,
    plugged,
    remarks_of,
    submission_table,
    summary,
)
from podium.compliance.text.terminal import clean
from podium.rules.finding import Severity

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding

OPEN_AT_MOST = 10
"""Maximum groups of a page on which all are open at first."""


STYLES = (*STYLE, "page.css")
SCRIPTS = (*SCRIPT, "filter.js")
"""The style and the script, which are embedded in the page."""


class Section(msgspec.Struct, frozen=True):
    """Groups with one title: a submission, or findings that do not count."""

    title: str
    remark: str
    groups: list[dict[str, Any]]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The data of the template; all texts are cleaned, but not escaped."""

    title: str
    verdicts: Sequence[tuple[str, str]]
    conclusion: str
    summary: str
    passes: str
    heads: Sequence[str]
    submissions: Sequence[Sequence[str]]
    severities: Sequence[str]
    rules: Sequence[str]
    places: Sequence[str]
    parts: Sequence[Section]
    tool: str


def render(report: Outcome, one_message: OneMessage = lambda _: False) -> str:
    """Render the report as an HTML page with every finding, grouped by cause.

    See `groups_of` for `one_message`.
    """
    page = _page(report, groups_of(report, one_message))
    style, script = (joined(__package__, parts) for parts in (STYLES, SCRIPTS))
    template = environment(__package__, {}).get_template("page.html.j2")
    policy = page_policy(style, script)
    page_text = template.render(page=page, policy=policy, style=style, script=script)
    return page_text.rstrip() + "\n"


def _page(report: Outcome, groups: Sequence[Group]) -> Page:
    rules = report.rules
    heads, rows = submission_table(report)
    closed = len(groups) > OPEN_AT_MOST
    severities = {group.first.severity for group in groups}
    return Page(
        title=clean(f"podium: {rules.usage} {rules.round}, profile {rules.profile}"),
        verdicts=judges(report),
        conclusion=headline(report),
        summary=". ".join((summary(report), *plugged(report))),
        passes=passes(report) if report.files or report.results else "",
        heads=heads,
        submissions=rows,
        severities=[severity.value for severity in Severity if severity in severities],
        rules=sorted({clean(group.first.id) for group in groups}),
        places=sorted({_place(group.submission) for group in groups}),
        parts=[*_parts(report, groups, closed=closed)],
        tool=f"{report.tool.name} {report.tool.version}",
    )


def _place(submission: str) -> str:
    return clean(submission) or "."


def _parts(report: Outcome, groups: Sequence[Group], *, closed: bool) -> Iterator[Section]:
    counting = [group for group in groups if not group.excuse]
    has_submissions = len(report.submissions) > 1
    for submission, members in by_submission(counting):
        title = _place(submission) if has_submissions else "Findings"
        yield Section(title, "", [_group(group, closed=closed) for group in members])
    for title, others in excused(groups, lambda group: group.excuse):
        yield Section(
            title, "Not counted in the verdict.", [_group(group, closed=True) for group in others]
        )


def _group(group: Group, *, closed: bool) -> dict[str, Any]:
    first = group.first
    return {
        "severity": first.severity.value,
        "rule": clean(first.id),
        "submission": _place(group.submission),
        "often": often(group),
        "official": bool(group.official),
        "message": clean(first.message),
        "remarks": [(label, clean(text)) for label, text in remarks_of(group)],
        "findings": [_finding(finding) for finding in group.findings],
        "following": [_finding(finding) for finding in group.following],
        "follow": following_text(group),
        "open": not closed,
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "path": clean(finding.path) or ".",
        "line": "" if finding.line is None else str(finding.line),
        "message": clean(finding.message),
        "rule": clean(finding.id),
    }
