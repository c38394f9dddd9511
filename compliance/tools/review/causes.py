"""One cause as one finding: a log that ends before its run does lacks everything that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.compliance.judging.results.result import Result, Run
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.review_rules import UNFINISHED_RUN
from podium.rules.finding import Finding, Profile, Severity

_DROPPED = "result.broken-run-dropped"
_OF_AN_END = ("pairing.", "common.run_stop", "closed.", "open.", "common.", "result.not-converged")


def by_cause(findings: Iterable[Finding], material: Material) -> list[Finding]:
    """The findings, those about a log that ends during training replaced by one."""
    unfinished = {
        run.display_path: (result, run)
        for result in material.results
        for run in result.runs
        if _is_unfinished(run)
    }
    kept: list[Finding] = []
    about: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.path in unfinished and _follows(finding) and not finding.waived:
            about.setdefault(finding.path, []).append(finding)
        else:
            kept.append(finding)
    made = [_finding(*unfinished[path], following) for path, following in about.items()]
    return [*kept, *made]


def _is_unfinished(run: Run) -> bool:
    facts = run.facts.run
    return facts.start_ms is not None and facts.stop_ms is None


def _follows(finding: Finding) -> bool:
    """Whether the end of a log explains a finding: a record is absent, or the target is missed."""
    if finding.id == _DROPPED or finding.id.endswith(".target"):
        return True
    return finding.id.startswith(_OF_AN_END) and (
        finding.line is None or finding.id.startswith("pairing.")
    )


def _finding(result: Result, run: Run, following: Sequence[Finding]) -> Finding:
    ends = trace(run).ends
    start = run.facts.run.start_ms
    line, stop = ends if ends is not None else (None, start)
    seconds = ((stop or 0.0) - (start or 0.0)) / 1000
    dropped = any(each.id == _DROPPED for each in following)
    heavy = any(each.severity is Severity.ERROR for each in following)
    found = UNFINISHED_RUN.found(
        Profile.POLICY,
        run.display_path,
        line=line,
        severity=None if heavy else Severity.WARNING,
        at="" if line is None else f" at line {line}",
        seconds=seconds,
        dropped=f"; it is dropped as the slowest of {len(result.runs)}" if dropped else "",
        count=len(following),
    )
    found.official = any(each.official for each in following)
    return found
