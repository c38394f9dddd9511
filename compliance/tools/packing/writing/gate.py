"""The gate: `podium check` on the assembled tree, and its receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from msgspec.structs import replace

from podium.compliance.judging.discovery import discover
from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.round_selection import ChosenBy, RoundRequest
from podium.compliance.judging.inputs.submission_folders import is_submission
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.judging.submission.layout_rules import NO_DESCRIPTION, NO_RESULTS
from podium.compliance.judging.waivers.file import waivers_in_tree
from podium.compliance.judging.waivers.waivers import WAIVERS_FILE, Waiver
from podium.compliance.reporting.conclusion import conclude
from podium.compliance.reporting.data import Rules, verdict_of
from podium.compliance.reporting.models import FindingEntry, Report, ResultEntry, Tool, publish
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.receipt import (
    Gate,
    PackedFile,
    PackedResult,
    PackedRules,
    PackedWaiver,
    Receipt,
)
from podium.compliance.tools.packing.writing.copying import Copied
from podium.rules.finding import Finding, Severity

MOST = 20
"""Number of errors that are named; `podium check` on the tree lists all."""


def judge(tree: Path, plan: Plan, jobs: int) -> Report:
    """The report of `podium check` on a tree; a tree that is not a submission is rejected.

    A log that the plan has checked is not read again: its copy has the same bytes.
    """
    rules = plan.rules
    if is_submission(tree, RoundRequest(rules.usage, rules.name)):
        options = Options(usage=rules.usage, round=rules.name, jobs=jobs)
        verdicts = {
            f"{tree}/{path}": as_packed(verdict, tree, path) for path, verdict in _known(plan)
        }
        return publish(check_inputs(discover([tree], options), options, known=verdicts).report)
    # `podium check` does not treat such a folder as a submission, and would report no error
    absent = [name for name in ("results", "systems") if not (tree / name).is_dir()]
    findings = [_lacking(name) for name in absent]
    rules_entry = Rules(usage=rules.usage, round=rules.name, profile="policy", chosen_by="option")
    return publish(conclude(rules_entry, findings=findings))


def _known(plan: Plan) -> list[tuple[str, FileVerdict]]:
    # An internal fault may have been transient: such a log is checked again
    return [item for item in plan.judged.items() if item[1].verdict.facts is not None]


def as_packed(judged: FileVerdict, tree: Path, path: str) -> FileVerdict:
    """The verdict on a log with its path in the tree; only paths differ."""
    verdict = _moved(judged.verdict, path)
    return replace(judged, path=f"{tree}/{path}", display_path=path, verdict=verdict)


def _moved(verdict: LogVerdict, path: str) -> LogVerdict:
    facts, official = verdict.facts, verdict.official
    assert isinstance(facts, Facts)
    return replace(
        verdict,
        findings=[replace(finding, path=path) for finding in verdict.findings],
        facts=replace(
            facts, run=replace(facts.run, name=path), seeds=replace(facts.seeds, path=path)
        ),
        official=None if official is None else _moved(official, path),
    )


def _lacking(name: str) -> Finding:
    rule = NO_RESULTS if name == "results" else NO_DESCRIPTION
    message = f"the folder {name} is missing: this is not a submission"
    return Finding(rule.id, Severity.ERROR, name, None, None, message, hint="see `podium init`")


def errors_of(report: Report) -> list[FindingEntry]:
    """The findings for which the gate rejects a tree."""
    return [
        finding
        for finding in report.findings
        if (finding.severity == "error" or finding.official) and not finding.waived
    ]


def error_lines(report: Report, width: int) -> Iterator[str]:
    """The first errors of a report for a terminal, and the number of the others."""
    errors = errors_of(report)
    for finding in errors[:MOST]:
        text = f"{clean(finding.path)}: {clean(finding.message)} [{finding.id}]"
        yield from wrap(text, width, "  - ", "    ")
    if len(errors) > MOST:
        yield f"  - and {len(errors) - MOST} more"


def make_receipt(
    plan: Plan, copied: Sequence[Copied], report: Report, tree: Path, chosen_by: ChosenBy
) -> Receipt:
    """The receipt of a checked tree."""
    waivers = _waivers(report, tree)
    return Receipt(
        tool=Tool(),
        rules=PackedRules(usage=plan.config.usage, round=plan.rules.name, chosen_by=chosen_by),
        submitter=plan.config.submitter,
        division=plan.config.division,
        gate=Gate(
            verdict=verdict_of(report.findings),
            official_verdict=report.official_verdict,
            rejected_by=tuple(report.rejected_by),
            counts=report.counts,
            errors=dict(sorted(Counter(finding.id for finding in errors_of(report)).items())),
        ),
        forced=bool(report.rejected_by),
        results=tuple(_result(entry, report, waivers) for entry in report.results),
        waivers=tuple(_packed(waiver, count) for waiver, count in waivers),
        files=tuple(_file(file) for file in sorted(copied, key=lambda file: file.entry.path)),
    )


def _file(copied: Copied) -> PackedFile:
    source = copied.entry.source
    return PackedFile(
        path=copied.entry.path,
        size=source.size,
        sha256=copied.sha256,
        source=source.display_path,
        executable=source.executable,
        link=source.link,
    )


def _result(
    entry: ResultEntry, report: Report, waivers: Sequence[tuple[Waiver, int]]
) -> PackedResult:
    below = f"{entry.path}/"
    findings = [finding for finding in report.findings if f"{finding.path}/".startswith(below)]
    counts = [
        (waiver, sum(_covers(waiver, finding) for finding in findings)) for waiver, _ in waivers
    ]
    return PackedResult(
        path=entry.path,
        system=entry.system,
        benchmark=entry.benchmark,
        division=entry.division,
        scaling=entry.scaling,
        verdict=entry.verdict,
        runs=entry.runs,
        failed_runs=entry.failed_runs,
        minutes=entry.minutes,
        score=entry.score,
        rcp=entry.rcp,
        rcp_margin=margin(entry),
        waivers=tuple(_packed(waiver, count) for waiver, count in counts if count),
    )


def margin(entry: ResultEntry | PackedResult) -> float | None:
    """The margin of a result above the minimum of the reference, as a fraction of the minimum."""
    rcp = entry.rcp
    if rcp is None or not rcp.minimum or rcp.submission is None:
        return None
    return (rcp.submission - rcp.minimum) / rcp.minimum


def _waivers(report: Report, tree: Path) -> list[tuple[Waiver, int]]:
    """The waivers in the tree that are valid today, each with its number of findings."""
    path = tree / WAIVERS_FILE
    if not path.is_file():
        return []
    waivers, _ = waivers_in_tree(path, WAIVERS_FILE)
    valid = [waiver for waiver in waivers.items if waiver.until >= date.today()]
    return [
        (waiver, sum(_covers(waiver, finding) for finding in report.findings)) for waiver in valid
    ]


def _covers(waiver: Waiver, entry: FindingEntry) -> bool:
    finding = Finding(entry.id, entry.severity, entry.path, None, None, "")
    return entry.waived and waiver.covers(finding)


def _packed(waiver: Waiver, count: int) -> PackedWaiver:
    return PackedWaiver(
        rule=waiver.rule,
        place=waiver.place,
        reason=waiver.reason,
        who=waiver.who,
        until=str(waiver.until),
        findings=count,
    )
