"""What the official verifier rejects, marked among the findings of the policy's judgement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

from msgspec.structs import replace

from podium.compliance.reporting.data import ResultEntry, SubmissionEntry
from podium.rules.finding import Finding, Severity, StatedBy


def deciding(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that reject: errors that nothing excuses."""
    return [f for f in findings if f.severity is Severity.ERROR and not f.waived]


def marked(
    findings: Iterable[Finding], rejecting: Iterable[tuple[Finding, Severity]]
) -> list[Finding]:
    """The findings, those marked for which the official verifier rejects a file or a result.

    `rejecting` are the errors of the verifier's profile, each with what it weighs by the policy,
    which overrules what the verifier alone states: so much weighs one that is added, as the policy
    reports nothing at its place.
    """
    kept = list(findings)
    places: dict[tuple[str, str], list[int]] = {}
    for index, finding in enumerate(kept):
        places.setdefault((finding.path, finding.id), []).append(index)
    for error, severity in rejecting:
        here = places.get((error.path, error.id))
        if here is None:
            alone = replace(error, severity=severity, stated_by=StatedBy.VERIFIER, official=True)
            kept.append(alone)
        else:
            at = next((index for index in here if kept[index].line == error.line), here[0])
            kept[at] = replace(kept[at], official=True)
    return kept


_Entry = TypeVar("_Entry", ResultEntry, SubmissionEntry)


def with_official(entry: _Entry, official: _Entry) -> _Entry:
    """An entry of the report, with the verdict of the official verifier's entry beside its own."""
    return replace(entry, official_verdict=official.verdict)


def passes(passed: bool) -> Literal["pass", "fail"]:
    """The verdict on a file."""
    return "pass" if passed else "fail"
