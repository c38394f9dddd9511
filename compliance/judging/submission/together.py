"""Findings that need all results of a submission, and the submissions checked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.throughput import without_strong
from podium.compliance.judging.submission.copies import (
    SubmissionIndex,
    copies,
    overlaps,
    same_scores,
)
from podium.rules.finding import Finding

Comparator = Callable[[Tree, Sequence[ResultVerdict], JudgingContext], Iterator[Finding]]
"""Compares a submission's results with something else, such as an earlier tree."""


def judge_together(
    tree: Tree,
    results: Sequence[ResultVerdict],
    context: JudgingContext,
    index: SubmissionIndex | None = None,
    comparators: Sequence[Comparator] = (),
) -> Iterator[Finding]:
    """Findings about all results together, from rules that only the policy has.

    `index` has the runs of submissions checked before; the runs of this submission are added.
    """
    yield from judge_alone(tree, results, context, index)
    for compare in comparators:
        yield from compare(tree, results, context)
    yield from without_strong(tree, results)


def judge_alone(
    tree: Tree,
    results: Sequence[ResultVerdict],
    context: JudgingContext,
    index: SubmissionIndex | None = None,
) -> Iterator[Finding]:
    """Findings about some results of a submission that do not need the others."""
    runs = ((run.display_path, run.facts) for verdict in results for run in verdict.result.runs)
    index = SubmissionIndex() if index is None else index
    index.submission = tree.package.display_path
    index.measured |= {
        tree.place(verdict.folder.path) for verdict in results if verdict.folder.power
    }
    # All copies before any score: copied runs have equal durations
    yield from [*copies(runs, context, index)]
    yield from same_scores(tree, results, index.alike, context, index)
    yield from overlaps(results, tree.place("results"), context)
