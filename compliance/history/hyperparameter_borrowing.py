"""Settings that are no longer those handed in first: in review they may be borrowed, as a group.

Source: training rules, Hyperparameter Borrowing; HPC follows them. Once per result a submitter may
take another's hyperparameters for the benchmark: all of them, but that batch sizes may differ, on
the same system. The earlier tree is that of the same round as it was handed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.compliance.history.prior_submission import Earlier, EarlierResult, changed_fields
from podium.compliance.inputs.layout import Tree
from podium.compliance.results.consistency import canonical_text
from podium.compliance.results.model import JudgingContext, ResultVerdict, join_limited
from podium.compliance.systems.agreement import same_organisation
from podium.rules.finding import Finding, StatedBy

BATCH_SIZES = frozenset(
    {
        "global_batch_size",
        "train_batch_size",
        "gradient_accumulation_steps",
        "gradient_accumulation_frequency",
        "model_bn_span",
        "batchnorm_group_size",
    }
)
"""Settings that may differ from the lender's."""

_SOFTWARE = frozenset({"framework", "other_software_stack", "operating_system"})


def borrowed(
    tree: Tree, results: Sequence[ResultVerdict], earlier: Earlier, by: JudgingContext
) -> Iterator[Finding]:
    """What is to be told of results whose settings differ from those handed in first."""
    if not by.rules.package.borrowing:
        return
    known = [one for one in earlier.results if one.rules.title == by.rules.title]
    for verdict in results:
        first = _first(known, verdict, tree)
        if first is None or not verdict.result.runs:
            continue
        settings = verdict.result.runs[0].facts.settings.as_dict()
        changed = differing(first.settings, settings)
        if not changed:
            continue
        yield _changed(tree, verdict, first, changed, _lenders(known, first), by)
        now, then = verdict.result.description, first.description
        if now is not None and then is not None:
            where = tree.place(tree.systems[first.system])
            yield from _system(where, first, then.given, now.given, by)


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The settings that two results do not share, batch sizes aside."""
    return sorted(
        key
        for key in (first.keys() | second.keys()) - BATCH_SIZES
        if key not in first
        or key not in second
        or canonical_text(first[key]) != canonical_text(second[key])
    )


def _first(
    known: Sequence[EarlierResult], verdict: ResultVerdict, tree: Tree
) -> EarlierResult | None:
    """The result as it was handed in first."""
    folder = verdict.folder
    same = (folder.system, folder.benchmark, folder.scaling)
    return next(
        (
            one
            for one in known
            if (one.system, one.benchmark, one.scaling) == same
            and same_organisation(one.submitter, tree.submitter)
        ),
        None,
    )


def _lenders(known: Sequence[EarlierResult], first: EarlierResult) -> list[EarlierResult]:
    return [
        one
        for one in known
        if one.benchmark == first.benchmark
        and not same_organisation(one.submitter, first.submitter)
    ]


def _changed(
    tree: Tree,
    verdict: ResultVerdict,
    first: EarlierResult,
    changed: list[str],
    lenders: list[EarlierResult],
    by: JudgingContext,
) -> Finding:
    where, settings = (
        tree.place(verdict.folder.path),
        verdict.result.runs[0].facts.settings.as_dict(),
    )
    told = f"{join_limited(changed)} not as in the result handed in first ({first.display_path})"
    if not by.rules.benchmark(first.benchmark).borrowable:
        return by.finding(
            "borrowing.not-allowed",
            where,
            f"{told}; settings of {first.benchmark} may not be borrowed",
            "hand in runs with the settings of the first",
            stated_by=StatedBy.POLICY,
        )
    apart = {lender.display_path: differing(lender.settings, settings) for lender in lenders}
    nearest = min(apart, key=lambda display_path: len(apart[display_path]), default=None)
    if nearest is not None and not apart[nearest]:
        return by.finding(
            "borrowing.group",
            where,
            f"{told}; all settings but batch sizes are those of {nearest}",
            "declare what is borrowed by the Monday of the third week of the review",
            stated_by=StatedBy.POLICY,
            note=True,
        )
    if nearest is None:
        told += ", and no other submitter has a result of the benchmark to borrow them from"
    else:
        told += (
            f"; must all be one lender's, and those of {nearest} differ in "
            f"{join_limited(apart[nearest])}"
        )
    return by.finding(
        "borrowing.not-a-group",
        where,
        told,
        "take all settings of one other result but batch sizes, or show that with them it "
        "converges worse than the lender's",
        stated_by=StatedBy.POLICY,
    )


def _system(
    where: str,
    first: EarlierResult,
    then: Mapping[str, Any],
    now: Mapping[str, Any],
    by: JudgingContext,
) -> Iterator[Finding]:
    """Borrowing is for the same system, software and configuration."""
    changed = [
        key
        for key in changed_fields(then, now)
        if not key.endswith("_notes")
        and not (by.rules.package.software_updates and key in _SOFTWARE)
    ]
    if changed:
        yield by.finding(
            "borrowing.system-changed",
            where,
            f"{join_limited(changed)} not as in the description handed in first, while "
            f"{first.benchmark} "
            "has other settings than then; must be the same system",
            "run the borrowed settings on the system as it was",
            stated_by=StatedBy.POLICY,
        )
