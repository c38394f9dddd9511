"""The report of one call of `podium check` as plain data, which every format prints.

The models that Python callers get (`podium.compliance.reporting.models`) are made from these
structs. Importing pydantic takes longer than judging a log, so no command waits for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec

from podium.compliance.version import VERSION
from podium.rules.finding import Finding, Severity

SCHEMA: Literal["podium.report/1"] = "podium.report/1"

STDIN = "<stdin>"
"""The path of standard input in a report."""

Verdict = Literal["accepted", "rejected"]

OfficialVerdict = Annotated[
    Verdict | None,
    msgspec.Meta(
        description="verdict of the official verifier; null in a round that has no verifier"
    ),
]


Judge = Literal["policy", "verifier", "plugins", "house"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """The program that made the report."""

    name: str = "podium"
    version: str = VERSION


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that the input was judged by, and how they were chosen."""

    usage: str
    round: Annotated[
        str, msgspec.Meta(description="a round such as 5.1, or `several` if folders name several")
    ]
    profile: Literal["policy", "verifier"]
    chosen_by: Literal["option", "config", "pack", "folder", "default"]


class PluginEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One plug-in, and whether it was used."""

    name: str
    version: str
    distribution: str
    state: Literal["loaded", "failed"]
    why: Annotated[
        str, msgspec.Meta(description="reason of a failure; empty if there was none")
    ] = ""
    rules: int = 0
    findings: int = 0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Findings by severity; waived findings and consequences are counted separately."""

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
    """The comparison of a result's convergence with the reference convergence points."""

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
    # Training has no such folders: its results are strong, as in the official summary
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
            description="verdict of the official verifier; null in a round that has no verifier"
        ),
    ] = None
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    round: Annotated[str | None, msgspec.Meta(description="the file's round, if rounds differ")] = (
        None
    )


class Outcome(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The report of one call of `podium check`."""

    # `schema` in JSON: a model made from this struct has a method with that name
    schema_: Literal["podium.report/1"] = SCHEMA
    tool: Tool
    rules: Rules
    verdict: Annotated[
        Verdict | Literal["not judged"],
        msgspec.Meta(description="`not judged`: only some rules were selected for this report"),
    ]
    official_verdict: OfficialVerdict = None
    rejected_by: Annotated[
        Sequence[Judge],
        msgspec.Meta(
            description="judges that reject, according to all rules but without waived findings; "
            "if there are any, the exit status is 1; each plug-in and podium.toml (house) is a "
            "separate judge"
        ),
    ] = ()
    exit_status: Annotated[
        Literal[0, 1, 3],
        msgspec.Meta(
            description="exit status of the command: 1 if a judge rejects and no option ignores "
            "that judge, 3 for a fault in podium itself"
        ),
    ] = 0
    not_judged: Annotated[
        str,
        msgspec.Meta(
            description="parts of the check of a whole submission that this check did not include"
        ),
    ] = ""
    base: Annotated[
        str,
        msgspec.Meta(
            description="prefix of each path from the working directory or the folder of "
            "--relative-to; empty if paths need no prefix"
        ),
    ] = ""
    plugins: Annotated[
        Sequence[PluginEntry],
        msgspec.Meta(description="plug-ins that were used, and plug-ins that failed"),
    ] = ()
    counts: Counts
    submissions: Sequence[SubmissionEntry] = ()
    results: Sequence[ResultEntry] = ()
    unjudged: Annotated[
        Sequence[str],
        msgspec.Meta(
            description="folders with logs that belong to no benchmark of the round; not judged"
        ),
    ] = ()
    files: Sequence[FileEntry] = ()
    findings: Sequence[Finding] = ()


def fails(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Whether any finding that is not waived rejects; `strict`: warnings reject, too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(finding.severity in failing and not finding.waived for finding in findings)


def counts_of(findings: Iterable[Finding]) -> Counts:
    """The number of findings of each severity, with waived findings and consequences separate."""
    counts: Counter[str] = Counter()
    for finding in findings:
        category = "waived" if finding.waived else finding.caused_by and "caused"
        counts[category or finding.severity.value] += 1
    return Counts(**counts)


def verdict_word(rejected: bool) -> Verdict:
    """The verdict as a word of the report."""
    return "rejected" if rejected else "accepted"


def verdict_of(findings: Iterable[Finding], *, strict: bool = False) -> Verdict:
    """The verdict that follows from findings; `strict`: warnings reject, too."""
    return verdict_word(fails(findings, strict=strict))
