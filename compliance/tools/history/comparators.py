"""The comparisons of a submission with the trees that `--earlier` names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.options import Options
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.submission.together import Comparator
from podium.compliance.tools.history.hyperparameter_borrowing import borrowed
from podium.compliance.tools.history.preview_followup import followed
from podium.compliance.tools.history.prior_submission import Earlier, read_earlier, resubmitted
from podium.rules.finding import Finding

_Compare = Callable[
    [Tree, Sequence[ResultVerdict], Earlier, JudgingContext],
    Iterator[Finding],
]


def comparators(trees: Sequence[Path], options: Options) -> list[Comparator]:
    """Comparisons with earlier trees; each tree is judged by the round that it names.

    Raises UsageFault in the verifier's profile, NothingToJudge if a tree has no logs.
    """
    # Read once for all comparisons: judging every log of a whole round takes by far the longest
    return comparisons(read_earlier(trees, options))


def comparisons(earlier: Earlier) -> list[Comparator]:
    """Comparisons with earlier trees that have been read."""
    return [_with(earlier, compare) for compare in (resubmitted, borrowed, followed)]


def _with(earlier: Earlier, compare: _Compare) -> Comparator:
    def compared(
        tree: Tree, results: Sequence[ResultVerdict], context: JudgingContext
    ) -> Iterator[Finding]:
        return compare(tree, results, earlier, context)

    return compared
