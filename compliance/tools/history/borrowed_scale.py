"""At which scale borrowed settings may run: that of the first result, but for the largest entry.

Source: training rules, Hyperparameter Borrowing; the HPC rules have the earlier logs, pruned ones
included, prove what is the largest scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.tools.history.history_rules import SCALE_CHANGED, UNPROVEN_SCALE
from podium.compliance.tools.history.prior_submission import EarlierResult
from podium.compliance.tools.history.scale import scale
from podium.rules.finding import Finding


def changed_scale(
    tree: Tree,
    verdict: ResultVerdict,
    first: EarlierResult,
    own: Sequence[EarlierResult],
    context: JudgingContext,
) -> Iterator[Finding]:
    """Compares the scale of a result whose settings changed with those submitted first.

    `own` are the submitter's results on the machine as they were submitted, `first` among them.
    """
    now, then = scale(verdict.result.description), scale(first.description)
    if not now or not then:
        return
    where = tree.place(verdict.folder.path)
    problem = "" if now == then else _problem(now, then, verdict, first, own)
    if problem:
        yield SCALE_CHANGED.found(
            context.profile,
            where,
            now=now,
            then=then,
            first=first.display_path,
            problem=problem,
        )
    largest = max(own, key=lambda one: one.proven or 0)
    if largest.proven and now > largest.proven:
        proven = f"{largest.proven:g}"
        yield UNPROVEN_SCALE.found(
            context.profile, where, now=now, proven=proven, where=largest.display_path
        )


def _problem(
    now: int,
    then: int,
    verdict: ResultVerdict,
    first: EarlierResult,
    own: Sequence[EarlierResult],
) -> str:
    """Why a result may not change its scale so; empty where it may."""
    kind = (first.benchmark, first.scaling, first.division)
    rivals = [
        one
        for one in own
        if (one.benchmark, one.scaling, one.division) == kind
        and (scale(one.description) or 0) > then
    ]
    if rivals:
        return (
            "must stay, as only the largest entry of a system may change its scale: "
            f"{rivals[0].display_path} has {scale(rivals[0].description)}"
        )
    minutes, before = verdict.result.score.score, first.minutes
    # Throughput has no minutes: there only a larger scale is more
    timed = first.scaling == "strong"
    if now > then or (timed and (minutes is None or before is None or minutes < before)):
        return ""
    took = f" than {before:.6g} min; it takes {minutes:.6g}" if timed else ""
    return f"must be a larger scale{', or faster' if timed else ''}{took}"
