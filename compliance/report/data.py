"""What one call of `podium check` finds, as plain data: what every format prints.

The models that Python callers get (`podium.compliance.report.models`) are made from these structs;
importing pydantic takes longer than judging a log, so that no command waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec

from podium.compliance.version import VERSION
from podium.rules.finding import Finding, Severity

SCHEMA: Literal["podium.report/1"] = "podium.report/1"

Verdict = Literal["accepted", "rejected"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """The program that made the report."""

    name: str = "podium"
    version: str = VERSION


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """By which rules it was judged, and how they were chosen."""

    usage: str
    round: Annotated[
        str, msgspec.Meta(description="a round such as 5.1, or `several` where folders name more")
    ]
    profile: Literal["policy", "verifier"]
    chosen_by: Literal["option", "config", "folder", "default"]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Findings by severity; waived ones are counted apart."""

    error: int = 0
    warning: int = 0
    note: int = 0
    waived: int = 0


class SubmissionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One submitter's package."""

    submitter: str
    path: str
    verdict: Verdict


class RcpEntry(msgspec.Struct, frozen=True, kw_only=True):
    """How a result's convergence compares with the reference convergence points."""

    verdict: Literal["pass", "fail", "missing", "not_applicable"]
    case: Literal["found", "interpolated", "below_range", "above_range", "none"]
    batch_size: int | float | None = None
    mean: float | None = None
    minimum: float | None = None
    submission: float | None = None
    scaling_factor: float | None = None


class ResultEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One result: all runs of one benchmark on one system."""

    path: str
    submitter: str
    system: str
    benchmark: str
    division: str
    # Training has no such folders: its results count as strong, as in the official summary
    scaling: Literal["strong", "weak"] = "strong"
    verdict: Verdict
    runs: int
    failed_runs: int
    minutes: float | None = None
    score: float | None = None
    rcp: RcpEntry | None = None


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file that was judged."""

    path: str
    kind: Literal["log", "system", "power", "other"]
    verdict: Literal["pass", "fail"]
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    round: Annotated[
        str | None, msgspec.Meta(description="the file's round, where rounds differ")
    ] = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """Everything one call of `podium check` found."""

    # `schema` in JSON: a model made of this struct has a method of that name
    schema_: Literal["podium.report/1"] = SCHEMA
    tool: Tool
    rules: Rules
    verdict: Verdict
    counts: Counts
    submissions: Sequence[SubmissionEntry] = ()
    results: Sequence[ResultEntry] = ()
    files: Sequence[FileEntry] = ()
    findings: Sequence[Finding] = ()


def fails(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Whether any finding that is not waived rejects what it is about; `strict`: warnings, too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(found.severity in failing and not found.waived for found in findings)


def conclude(
    rules: Rules,
    files: Iterable[FileEntry],
    findings: Iterable[Finding],
    *,
    submissions: Iterable[SubmissionEntry] = (),
    results: Iterable[ResultEntry] = (),
    strict: bool = False,
) -> Outcome:
    """Sort everything, count it and give the verdict; `strict` lets warnings reject."""
    # Sorted, so that the number of processes does not change the report
    ordered = sorted(findings, key=Finding.sort_key)
    counted = [finding.severity for finding in ordered if not finding.waived]
    counts = {severity.value: counted.count(severity) for severity in Severity}
    counts["waived"] = len(ordered) - len(counted)
    rejected = counts["error"] or (strict and counts["warning"])
    return Outcome(
        tool=Tool(),
        rules=rules,
        verdict="rejected" if rejected else "accepted",
        counts=Counts(**counts),
        submissions=sorted(submissions, key=lambda entry: entry.path),
        results=sorted(results, key=lambda entry: entry.path),
        files=sorted(files, key=lambda entry: entry.path),
        findings=ordered,
    )
