"""Findings that need all results of a submission, and the submissions checked before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

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

if TYPE_CHECKING:
    from podium.compliance.judging.repository.contents import Memory

Comparator = Callable[[Tree, Sequence[ResultVerdict], JudgingContext], Iterator[Finding]]
"""Compares a submission's results with something else, such as an earlier tree."""


class RoundState(msgspec.Struct):
    """State that the submissions of one round share while they are checked.

    `seen` has the runs of earlier submissions, in which copies are found. `comparators` compare
    each submission with something outside the round. `contents` returns the known contents of a
    submission's files, by its root.
    """

    seen: SubmissionIndex = msgspec.field(default_factory=SubmissionIndex)
    comparators: Sequence[Comparator] = ()
    contents: Callable[[Path], Memory | None] | None = None


def judge_together(
    tree: Tree,
    results: Sequence[ResultVerdict],
    context: JudgingContext,
    round_state: RoundState | None = None,
) -> Iterator[Finding]:
    """Findings about all results together, from rules that only the policy has.

    The runs of the submission are added to `round_state`. A part of a submission is compared with
    nothing else.
    """
    state = RoundState() if round_state is None or tree.scope else round_state
    index = state.seen
    index.submission = tree.display_path
    index.measured |= {
        tree.place(verdict.folder.path) for verdict in results if verdict.folder.power
    }
    runs = ((run.display_path, run.facts) for verdict in results for run in verdict.result.runs)
    # All copies before any score: copied runs have equal durations
    yield from [*copies(runs, context, index)]
    yield from same_scores(tree, results, index.alike, context, index)
    yield from overlaps(results, tree.place("results"), context)
    if tree.scope:
        return
    for compare in state.comparators:
        yield from compare(tree, results, context)
    yield from without_strong(tree, results)
