"""The report as Markdown for a pull request or a job summary, with all text escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.grouping import Group, OneMessage, by_submission, groups_of
from podium.compliance.reporting.render.words import (
    excused,
    following_text,
    judged,
    official,
    often,
    passes,
    plugged,
    remarks_of,
    submission_table,
)
from podium.compliance.text.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding


# Text that becomes a link automatically: URLs, e-mail addresses, mentions, issues. The preceding
# character does not matter: GitHub links them after `_` and `(`, too
_SPECIAL = re.compile(
    r"(?P<link>@(?=\w)|#(?=\d)|GH-(?=\d)|:(?=/)|(?<=www)(?=\.)"
    r"|(?:mailto|xmpp):)"
    r"|[\\`*{}\[\]<>&|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SIMPLE = re.compile(r"[\w./:,=+()-]+(?: [\w./:,=+()-]+)*", re.ASCII)


def escape(text: str) -> str:
    """Escape text so that Markdown and HTML show it literally: no markup, mention or link."""
    return _SPECIAL.sub(
        # GitHub links mentions and addresses after it decodes entities: only a comment between
        # their characters prevents that
        lambda match: f"{match[0]}<!-- -->" if match["link"] is not None else f"&#{ord(match[0])};",
        clean(text),
    )


def code(text: str) -> str:
    """Format text as code."""
    text = clean(text)
    # A backtick in the text would end the code, a pipe the cell of a table
    return f"`{text}`" if _SIMPLE.fullmatch(text) else f"<code>{escape(text)}</code>"


OPEN_AT_MOST = 20
"""Maximum findings of a report with unfolded tables."""

MOST_ROWS = 20
"""Maximum findings in a table; a job summary is limited to 1 MiB."""


def render(report: Outcome, one_message: OneMessage = lambda _: False) -> str:
    """Render the report as GitHub-flavored Markdown: verdicts, counts, then a table per cause.

    A table has at most MOST_ROWS findings, because GitHub limits the size. See `groups_of` for
    `one_message`.
    """
    counts, sentence = report.counts, escape(judged(report))
    groups = groups_of(report, one_message)
    lines = [
        f"## podium: {headline(report)}",
        "",
        f"{sentence[0].upper()}{sentence[1:]}.",
        *([f"{passes(report)}."] if report.files or report.results else []),
        *(f"{escape(line)}." for line in plugged(report)),
        "",
        *([f"{official_verdict}.", ""] if (official_verdict := official(report)) else []),
        "| errors | warnings | notes | waived |",
        "| ---: | ---: | ---: | ---: |",
        f"| {counts.error} | {counts.warning} | {counts.note} | {counts.waived} |",
    ]
    lines += _submissions(report)
    folded = len(report.findings) > OPEN_AT_MOST
    for submission, section_groups in by_submission(group for group in groups if not group.excuse):
        if len(report.submissions) > 1:
            lines += ["", f"### {escape(submission or 'outside submissions')}"]
        for group in section_groups:
            lines += _group(group, folded)
    for title, section_groups in excused(groups, lambda group: group.excuse):
        lines += ["", f"### {title}", "", "Not counted in the verdict."]
        for group in section_groups:
            lines += _group(group, folded)
    return "\n".join(lines) + "\n"


def _submissions(report: Outcome) -> Iterator[str]:
    if not report.submissions:
        return
    heads, rows = submission_table(report)
    yield from ("", f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}")
    for row in rows:
        yield f"| {' | '.join(map(escape, row))} |"


def _group(group: Group, folded: bool) -> Iterator[str]:
    first = group.first
    severity = f"waived ({first.severity})" if group.excuse else first.severity.value
    often_ = f" ({often(group)})" if len(group.findings) > 1 else ""
    yield from ("", "<details>" if folded else "<details open>")
    rule = f"<code>{escape(first.id)}</code>"
    yield f"<summary><b>{severity}</b> {rule}: {escape(first.message)}{often_}</summary>"
    yield ""
    for label, text in remarks_of(group):
        yield f"- <em>{label}:</em> {escape(text)}"
    if group.following:
        yield f"- {following_text(group)}"
    # GitHub reads Markdown inside HTML only after an empty line
    yield from ("", "| place | line | finding |", "| --- | ---: | --- |")
    yield from map(_row, group.findings[:MOST_ROWS])
    if len(group.findings) > MOST_ROWS:
        yield from ("", f"and {len(group.findings) - MOST_ROWS} more; other formats list them")
    yield from ("", "</details>")


def _row(finding: Finding) -> str:
    line = "" if finding.line is None else str(finding.line)
    return f"| {code(finding.path or '.')} | {line} | {escape(finding.message)} |"
