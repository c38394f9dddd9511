"""The short form of a report for notebooks: the verdict, the counts, and each fault once."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.placing import joined
from podium.compliance.reporting.render.words import judged, official, stated
from podium.compliance.text.terminal import clean
from podium.compliance.text.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding

MOST_FAULTS = 20
"""Maximum rows of the table in a notebook cell."""

_HEADS = ("severity", "rule", "found", "first in", "message")
_ORDER = {"error": 0, "warning": 1, "note": 2, "waived": 3}


def summary(report: Outcome) -> str:
    """Render a report as an HTML fragment: equal faults are one row, most severe first."""
    faults = _faults(report.findings)
    lines = [
        "<div>",
        f"<p><strong>{_shown(headline(report))}</strong>",
        *(f"<br>{_shown(line)}" for line in [official(report)] if line),
        f"<br>{_shown(judged(report))}</p>",
    ]
    if faults:
        heads = "".join(f"<th>{head}</th>" for head in _HEADS)
        lines += ["<table>", f"<thead><tr>{heads}</tr></thead>", "<tbody>"]
        lines += [_row(group, report.base) for group in faults[:MOST_FAULTS]]
        lines += ["</tbody>", "</table>"]
    if len(faults) > MOST_FAULTS:
        lines.append(f"<p>and {plural(len(faults) - MOST_FAULTS, 'other fault')}</p>")
    return "\n".join([*lines, "</div>", ""])


def _faults(findings: Iterable[Finding]) -> list[list[Finding]]:
    """The findings by message, most severe first, in report order within a severity."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((_severity(finding), finding.id, finding.message), []).append(finding)
    return sorted(groups.values(), key=lambda group: _ORDER[_severity(group[0])])


def _severity(finding: Finding) -> str:
    return "waived" if finding.waived else str(finding.severity)


def _row(group: list[Finding], base: str) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(group, base))}</tr>"


def _cells(group: list[Finding], base: str) -> Iterator[str]:
    first = group[0]
    line = "" if first.line is None else f":{first.line}"
    yield _shown(_severity(first))
    yield f"<code>{_shown(first.id)}</code>"
    yield plural(len(group), "time")
    yield f"<code>{_shown(joined(base, first.path) or '.')}{line}</code>"
    remarks = [("help", first.hint), ("source", stated(first))]
    details = (f"<br><em>{label}:</em> {_shown(text)}" for label, text in remarks if text)
    yield f"{_shown(first.message)}{''.join(details)}"


def _shown(text: str) -> str:
    # A notebook renders text between dollar signs as a formula
    return escape(clean(text)).replace("$", "&#36;")
