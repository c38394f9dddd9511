"""The report as Markdown for a pull request or a job summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.report.markdown_text import code, escape
from podium.compliance.report.render.text import (
    facts_of,
    grouped,
    judged,
    passes,
    plural,
    remarks,
    verdict_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.compliance.report.data import FileEntry, Outcome
    from podium.rules.finding import Finding

OPEN_AT_MOST = 20
"""Findings up to which the tables are shown unfolded."""


def render(report: Outcome) -> str:
    """Render the report as GitHub-flavoured Markdown: verdict, counts, then a table per file."""
    counts, sentence = report.counts, escape(judged(report))
    lines = [
        f"## podium: {report.verdict}",
        "",
        f"{sentence[0].upper()}{sentence[1:]}.",
        *([f"{passes(report)}."] if report.files or report.results else []),
        "",
        "| errors | warnings | notes | waived |",
        "| ---: | ---: | ---: | ---: |",
        f"| {counts.error} | {counts.warning} | {counts.note} | {counts.waived} |",
    ]
    entries = {entry.path: entry for entry in report.files}
    folded = len(report.findings) > OPEN_AT_MOST
    lines += _submissions(report)
    lines += _tables([each for each in report.findings if not each.waived], entries, folded)
    waived = [each for each in report.findings if each.waived]
    if waived:
        lines += ["", "### Waived in review", "", "Not counted in the verdict."]
        lines += _tables(waived, entries, folded)
    return "\n".join(lines) + "\n"


def _submissions(report: Outcome) -> Iterator[str]:
    if report.submissions:
        yield from ("", "| submission | verdict |", "| --- | --- |")
    for entry in report.submissions:
        yield f"| {escape(entry.submitter)} | {entry.verdict} |"


def _tables(findings: list[Finding], entries: dict[str, FileEntry], folded: bool) -> Iterator[str]:
    for path, found in grouped(findings).items():
        entry = entries.get(path)
        verdict, facts = verdict_of(entry, found), escape(facts_of(entry))
        known = f" ({facts})" if facts else ""
        if folded:
            number = plural(len(found), "finding")
            name = f"<code>{escape(path or '.')}</code>"
            yield from ("", "<details>")
            yield f"<summary><b>{verdict}</b> {name}{known}: {number}</summary>"
        else:
            yield from ("", f"**{verdict}** {code(path or '.')}{known}")
        # GitHub reads Markdown inside HTML only after an empty line
        yield from ("", "| severity | line | finding | rule |", "| --- | ---: | --- | --- |")
        yield from map(_row, found)
        if folded:
            yield from ("", "</details>")


def _row(finding: Finding) -> str:
    severity = f"waived ({finding.severity})" if finding.waived else finding.severity.value
    line = "" if finding.line is None else str(finding.line)
    parts = [escape(finding.message)]
    parts += [f"<em>{label}:</em> {escape(text)}" for label, text in remarks(finding)]
    return f"| {severity} | {line} | {'<br>'.join(parts)} | {code(finding.id)} |"
