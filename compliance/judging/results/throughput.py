"""HPC's throughput results: instances at the same time, pruned instances, the required result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.result import Run
from podium.compliance.judging.results.rules.throughput_rules import (
    INVALID_PRUNED_LOG,
    MIXED_SCALE,
    NO_STRONG_RESULT,
    NOT_CONVERGED,
    TOTAL_SCALE,
)
from podium.compliance.text.words import join_limited
from podium.rules.finding import Finding, Profile

_PROFILE = Profile.POLICY
"""Only the policy has these rules: the official verifier only counts the logs."""


def judge_throughput(
    tree: Tree, verdict: ResultVerdict, pruned: Sequence[Run]
) -> Iterator[Finding]:
    """Findings about one throughput result and its pruned logs."""
    for run in verdict.result.runs:
        if not run.facts.run.converged:
            yield NOT_CONVERGED.found(_PROFILE, run.display_path)
    for run in pruned:
        if run.failed and not run.facts.droppable:
            yield INVALID_PRUNED_LOG.found(_PROFILE, run.display_path)
    description = verdict.result.description
    total = None if description is None else description.accelerators or description.number_of_nodes
    yield from _scales(verdict.result.runs, pruned, tree.place(verdict.folder.path), total)


def _scales(
    runs: Sequence[Run], pruned: Sequence[Run], path: str, total: int | None
) -> Iterator[Finding]:
    by_scale = {scale: run.name for run in runs if (scale := _scale(run)) is not None}
    if len(by_scale) > 1:
        scales = join_limited(
            [f"{scale:.15g} in {name}" for scale, name in sorted(by_scale.items())]
        )
        yield MIXED_SCALE.found(_PROFILE, path, scales=scales)
        return
    if not by_scale or not total:
        return
    scale, count = next(iter(by_scale)), len(runs) + len(pruned)
    # HPC rules: S <= T <= M * S, where M includes the pruned instances
    if not scale <= total <= count * scale:
        yield TOTAL_SCALE.found(
            _PROFILE, path, total=total, scale=scale, all=count * scale, count=count
        )


def _scale(run: Run) -> float | None:
    facts = run.facts.run
    # HPC rules allow 0 accelerators: scale is then counted in nodes
    return facts.accelerators or facts.nodes


def without_strong(tree: Tree, results: Iterable[ResultVerdict]) -> Iterator[Finding]:
    """Findings about throughput results without a time-to-train result in the submission."""
    folders = [verdict.folder for verdict in results]
    # For any system: submitters mostly have a separate description for each metric
    strong_benchmarks = {folder.benchmark for folder in folders if folder.scaling == "strong"}
    for folder in folders:
        if folder.scaling == "weak" and folder.benchmark not in strong_benchmarks:
            yield NO_STRONG_RESULT.found(
                _PROFILE, tree.place(folder.path), benchmark=folder.benchmark
            )
