"""The comparison of a submission's logs with the descriptions of their systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.consistency import contradicts, line_of
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.systems.reader import line_of as line_of_field
from podium.compliance.judging.systems.reader import read_description
from podium.compliance.judging.systems.system_rules import DIVISION_MISMATCH
from podium.rules.finding import Finding, Severity


def judge_agreement(result: Result) -> Iterator[Finding]:
    """Differences between the logs of a result and the description, each reported once."""
    from podium.compliance.judging.systems.agreement import LogFacts, agrees_with_logs

    description = result.description
    if description is None:
        return
    # Nearly all logs of a result have the same values: each is compared once
    first_runs: dict[LogFacts, Run] = {}
    for run in result.runs:
        facts = run.facts
        log_facts = LogFacts(
            facts.org,
            facts.platform,
            facts.status,
            facts.nodes,
            facts.accelerators_per_node,
            result.weak,
            facts.model_parallel,
        )
        first_runs.setdefault(log_facts, run)
    # From 4.1 on no rule requires the key, but some logs still have old values
    has_status = "submission_status" in result.rules.scopes("", "")[0].keys
    reported: set[tuple[str, Any]] = set()
    for log_facts, run in first_runs.items():
        status = None if has_status else Severity.NOTE
        for difference in agrees_with_logs(description, log_facts, run.display_path, status):
            if (difference.id, difference.actual) not in reported:
                reported.add((difference.id, difference.actual))
                yield replace(difference, line=line_of(run.path, difference.key or ""))


def judge_divisions(
    tree: Tree, results: Iterable[ResultVerdict], context: JudgingContext
) -> Iterator[Finding]:
    """One finding for each description whose division differs from all logs of its system.

    If some logs agree with it, the others are wrong, and `result.other-division` reports each.
    """
    of_system: dict[str, list[ResultVerdict]] = {}
    for verdict in results:
        of_system.setdefault(verdict.folder.system, []).append(verdict)
    for system, verdicts in of_system.items():
        division = verdicts[0].result.described_division
        runs = [run for verdict in verdicts for run in verdict.result.runs]
        if not runs or not all(contradicts(run.facts.run.division, division) for run in runs):
            continue
        path = tree.systems[system]
        yield DIVISION_MISMATCH.found(
            context.profile,
            tree.place(path),
            line=line_of_field(read_description(tree.root / path), "division"),
            key="division",
            severity=None if context.rules.package.one_division else Severity.WARNING,
            described=division,
            count=len(runs),
            logged=" or ".join(sorted({repr(run.facts.run.division) for run in runs})),
            first=_where(runs[0], "submission_division"),
        )


def _where(run: Run, key: str) -> str:
    line = line_of(run.path, key)
    return run.display_path if line is None else f"{run.display_path}:{line}"
