"""HPC's throughput results: instances side by side, those pruned, and the result they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podium.compliance.inputs.layout import PRUNED, Tree
from podium.compliance.results.model import JudgingContext, ResultVerdict, join_limited
from podium.compliance.results.result import Run
from podium.rules.finding import Finding, StatedBy

CITES = "HPC rules, Throughput"


def judge_throughput(
    tree: Tree, verdict: ResultVerdict, pruned: Sequence[Run], by: JudgingContext
) -> Iterator[Finding]:
    """One throughput result.

    The policy's demands only: the official verifier counts the logs, and looks at no pruned one.
    """
    if by.verifier or verdict.folder.scaling != "weak":
        return
    where = tree.place(verdict.folder.path)
    yield from _converged(verdict, by)
    yield from _pruned(pruned, by)
    described = verdict.result.description
    total = None if described is None else described.accelerators or described.nodes
    yield from _scales(verdict.result.runs, pruned, where, total, by)


def _converged(verdict: ResultVerdict, by: JudgingContext) -> Iterator[Finding]:
    for run in verdict.result.runs:
        if not run.facts.run.converged:
            yield by.finding(
                "throughput.not-converged",
                run.display_path,
                "this instance did not converge; all instances that are counted must",
                f"move its log to {PRUNED}, and leave at least as many as the benchmark needs",
                stated_by=StatedBy.POLICY,
            )


def _pruned(pruned: Iterable[Run], by: JudgingContext) -> Iterator[Finding]:
    for run in pruned:
        if run.failed and not run.facts.missed_only:
            yield by.finding(
                "throughput.broken-pruned-log",
                run.display_path,
                "this pruned log breaks rules beyond missing the target; pruned logs must comply",
                "mend the findings of this log",
                stated_by=StatedBy.POLICY,
            )


def _scales(
    runs: Sequence[Run], pruned: Sequence[Run], where: str, total: int | None, by: JudgingContext
) -> Iterator[Finding]:
    scales = {scale: run for run in runs if (scale := _scale(run)) is not None}
    if len(scales) > 1:
        told = join_limited([f"{scale:g} in {run.name}" for scale, run in sorted(scales.items())])
        yield by.finding(
            "throughput.mixed-scale",
            where,
            f"the instances are of several scales ({told}); must all be of one",
            "take only instances that ran on the same number of nodes and accelerators",
            stated_by=StatedBy.POLICY,
        )
        return
    if not scales or not total:
        return
    scale, count = next(iter(scales)), len(runs) + len(pruned)
    if total < scale:
        said = f"an instance ran on {scale:g}, more than the {total} of the whole system"
        hint = "mend the system's number of nodes or accelerators"
    elif total > count * scale:
        said = f"{count} instances of {scale:g} do not fill the system's {total}; the logs of all "
        said += "instances must be there, pruned ones too"
        hint = f"add the logs of the other instances to {PRUNED}"
    else:
        return
    yield by.finding("throughput.total-scale", where, said, hint, stated_by=StatedBy.POLICY)


def _scale(run: Run) -> float | None:
    facts = run.facts.run
    return facts.accelerators or facts.nodes


def without_strong(
    tree: Tree, results: Iterable[ResultVerdict], by: JudgingContext
) -> Iterator[Finding]:
    """Throughput results whose benchmark has no time-to-train result in the submission."""
    if by.verifier:
        return
    verdicts = list(results)
    strong = {v.folder.benchmark for v in verdicts if v.folder.scaling == "strong"}
    for verdict in verdicts:
        folder = verdict.folder
        if folder.scaling == "weak" and folder.benchmark not in strong:
            yield by.finding(
                "throughput.no-strong-result",
                tree.place(folder.path),
                f"{folder.benchmark} has throughput but no time-to-train result; the first is "
                "taken only together with the second",
                f"add results/<system>/strong/{folder.benchmark}",
                stated_by=StatedBy.POLICY,
            )
