"""What one call of `podium check` finds, as plain data: what every format prints.

The models that Python callers get (`podium.compliance.reporting.models`) are made from these
structs; importing pydantic takes longer than judging a log, so that no command waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from podium.compliance.version import VERSION
from podium.rules.finding import Finding, Severity

SCHEMA: Literal["podium.report/1"] = "podium.report/1"

STDIN = "<stdin>"
"""The path in a report of what came by standard input."""

Verdict = Literal["accepted", "rejected"]

OfficialVerdict = Annotated[
    Verdict | None,
    msgspec.Meta(
        description="what the official verifier says; null in a round that has none of its own"
    ),
]


Judge = Literal["policy", "verifier", "plugins", "house"]


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
    chosen_by: Literal["option", "config", "pack", "folder", "default"]


class PluginEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One plug-in beside podium's own rules, and whether it took part."""

    name: str
    version: str
    distribution: str
    state: Literal["loaded", "failed"]
    why: Annotated[str, msgspec.Meta(description="what a failed one did wrong")] = ""
    rules: int = 0
    findings: int = 0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Findings by severity; apart from them the waived ones, and those that another has caused."""

    error: int = 0
    warning: int = 0
    note: int = 0
    waived: int = 0
    caused: int = 0


class SubmissionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One submitter's package."""

    submitter: str
    path: str
    verdict: Verdict
    official_verdict: OfficialVerdict = None


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
    official_verdict: OfficialVerdict = None
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
    official_verdict: Annotated[
        Literal["pass", "fail"] | None,
        msgspec.Meta(
            description="what the official verifier says; null in a round that has none of its own"
        ),
    ] = None
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
    verdict: Annotated[
        Verdict | Literal["not judged"],
        msgspec.Meta(description="not judged: only some rules were selected for this report"),
    ]
    official_verdict: OfficialVerdict = None
    rejected_by: Annotated[
        Sequence[Judge],
        msgspec.Meta(
            description="who rejects, by all rules, what is waived left out: the exit status is 1 "
            "where anyone does; rules of plug-ins and those of podium.toml (house) reject as such"
        ),
    ] = ()
    exit_status: Annotated[
        Literal[0, 1, 3],
        msgspec.Meta(
            description="of the command: 1 where a judge rejects that the options do not leave "
            "out, 3 for a fault of podium itself"
        ),
    ] = 0
    not_judged: Annotated[
        str, msgspec.Meta(description="what is judged of a submission and not of these paths")
    ] = ""
    base: Annotated[
        str,
        msgspec.Meta(
            description="what to put in front of each path, to reach it from the working directory "
            "or from the folder of --relative-to; empty where nothing is missing"
        ),
    ] = ""
    plugins: Annotated[
        Sequence[PluginEntry],
        msgspec.Meta(description="plug-ins that took part, and those that failed to"),
    ] = ()
    counts: Counts
    submissions: Sequence[SubmissionEntry] = ()
    results: Sequence[ResultEntry] = ()
    unjudged: Annotated[
        Sequence[str],
        msgspec.Meta(description="folders with logs of no benchmark of the round: not judged"),
    ] = ()
    files: Sequence[FileEntry] = ()
    findings: Sequence[Finding] = ()


def fails(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Whether any finding that is not waived rejects what it is about; `strict`: warnings, too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(found.severity in failing and not found.waived for found in findings)


def counted_findings(report: Outcome) -> Iterator[Finding]:
    """The findings that are counted by their severity: not waived, and not consequences."""
    return (each for each in report.findings if not each.waived and not each.caused_by)


def counts_of(findings: Iterable[Finding]) -> Counts:
    """How many findings there are of each severity, apart from waived ones and consequences."""
    counts: Counter[str] = Counter()
    for finding in findings:
        apart = "waived" if finding.waived else finding.caused_by and "caused"
        counts[apart or finding.severity.value] += 1
    return Counts(**counts)


def verdict_word(rejected: bool) -> Verdict:
    """The verdict as a report writes it."""
    return "rejected" if rejected else "accepted"


def verdict_of(findings: Iterable[Finding], *, strict: bool = False) -> Verdict:
    """The verdict that findings give; `strict`: warnings reject as well."""
    return verdict_word(fails(findings, strict=strict))
