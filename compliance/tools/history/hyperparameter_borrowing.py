"""Settings that changed since the first submission: in review they may be borrowed, as a group.

Source: training rules, Hyperparameter Borrowing; HPC follows them. Once per result, a submitter may
use another submitter's hyperparameters for the benchmark, on the same system. All of them must be
used; only batch sizes may differ. The earlier tree is the first submission to the same round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.consistency import canonical_text
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.judging.systems.values import SystemDescription
from podium.compliance.text.words import join_limited
from podium.compliance.tools.history.history_rules import (
    BORROWER_CHANGED,
    GROUP,
    NOT_A_GROUP,
    NOT_ALLOWED,
    SCALE_CHANGED,
    UNPROVEN_SCALE,
)
from podium.compliance.tools.history.prior_submission import (
    Earlier,
    EarlierResult,
    changed_fields,
)
from podium.compliance.tools.history.scale import machine, scale
from podium.rules.finding import Finding


def changed_scale(
    tree: Tree,
    verdict: ResultVerdict,
    first: EarlierResult,
    own_results: Sequence[EarlierResult],
    context: JudgingContext,
) -> Iterator[Finding]:
    """Compare the scale of a result whose settings changed with the scales submitted first.

    `own_results` are the results that the submitter first submitted on the machine, including
    `first`.
    """
    now, then = scale(verdict.result.description), scale(first.description)
    if not now or not then:
        return
    location = tree.place(verdict.folder.path)
    problem = "" if now == then else _problem(now, then, verdict, first, own_results)
    if problem:
        yield SCALE_CHANGED.found(
            context.profile,
            location,
            now=now,
            then=then,
            first=first.display_path,
            problem=problem,
        )
    largest = max(own_results, key=lambda result: result.proven or 0)
    if largest.proven and now > largest.proven:
        proven = f"{largest.proven:g}"
        yield UNPROVEN_SCALE.found(
            context.profile, location, now=now, proven=proven, where=largest.display_path
        )


def _problem(
    now: int,
    then: int,
    verdict: ResultVerdict,
    first: EarlierResult,
    own_results: Sequence[EarlierResult],
) -> str:
    """The reason why a result may not change its scale in this way; empty if it may."""
    kind = (first.benchmark, first.scaling, first.division)
    rivals = [
        result
        for result in own_results
        if (result.benchmark, result.scaling, result.division) == kind
        and (scale(result.description) or 0) > then
    ]
    if rivals:
        return (
            "only the largest entry of a system may change its scale, and "
            f"{rivals[0].display_path} has {scale(rivals[0].description)}"
        )
    minutes, before = verdict.result.score.score, first.minutes
    # Throughput has no minutes: only a larger scale is an improvement there
    timed = first.scaling == "strong"
    if now > then or (timed and (minutes is None or before is None or minutes < before)):
        return ""
    took = f", or less than {before:.6g} min, got {minutes:.6g} min" if timed else ""
    return f"expected a larger scale{took}"


# The rules name batch sizes, local and global, and the span of batch normalization
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

# A system of another size usually also has another name
_SIZES = frozenset({"number_of_nodes", "accelerators_per_node", "system_name"})

# Until training 5.0, Software Adoption let a submitter update these during the review
_SOFTWARE = frozenset({"framework", "other_software_stack", "operating_system"})


def borrowed(
    tree: Tree, results: Sequence[ResultVerdict], earlier: Earlier, context: JudgingContext
) -> Iterator[Finding]:
    """Findings about results whose settings differ from those submitted first."""
    if not context.rules.package.borrowing:
        return
    # A tree of an earlier round is not the first version of this submission and lends nothing
    round_results = [
        result for result in earlier.results if result.rules.title == context.rules.title
    ]
    for verdict in results:
        first = _first(round_results, verdict, tree)
        if first is None or not verdict.result.runs:
            continue
        settings = verdict.result.runs[0].facts.settings.as_dict()
        changed = differing(first.settings, settings)
        # If the settings are unchanged, another description is a correction, not borrowing
        if not changed:
            continue
        yield _changed(tree, verdict, first, changed, _lenders(round_results, first), context)
        now = verdict.result.description
        if now is not None and first.description is not None:
            yield from _system(tree, verdict.folder.system, first, now, context)
            if context.rules.package.borrowed_scale:
                own_results = [result for result in round_results if _same_machine(result, first)]
                yield from changed_scale(tree, verdict, first, own_results, context)


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The settings that differ between two results, except batch sizes."""
    return sorted(
        key
        for key in (first.keys() | second.keys()) - BATCH_SIZES
        if key not in first
        or key not in second
        # Logs write one setting as 8, 8.0 or a string: that is not a change
        or canonical_text(first[key]) != canonical_text(second[key])
    )


def _first(
    results: Sequence[EarlierResult], verdict: ResultVerdict, tree: Tree
) -> EarlierResult | None:
    """The first submission of a result."""
    folder, system = verdict.folder, verdict.result.description
    own_results = [
        result
        for result in results
        if (result.benchmark, result.scaling) == (folder.benchmark, folder.scaling)
        and same_organization(result.submitter, tree.submitter)
    ]
    match = next((result for result in own_results if result.system == folder.system), None)
    if match is not None or folder.scaling != "weak" or system is None:
        return match
    # HPC rules: borrowed instances may be submitted with the original ones, under another system
    same_machine = [
        result
        for result in own_results
        if result.description and machine(result.description) == machine(system)
    ]
    return max(same_machine, key=lambda result: result.proven or 0, default=None)


def _same_machine(result: EarlierResult, first: EarlierResult) -> bool:
    """Whether two earlier results are from the same submitter and machine, at any scale."""
    return (
        result.description is not None
        and first.description is not None
        and machine(result.description) == machine(first.description)
        and same_organization(result.submitter, first.submitter)
    )


def _lenders(results: Sequence[EarlierResult], first: EarlierResult) -> list[EarlierResult]:
    return [
        result
        for result in results
        if result.benchmark == first.benchmark
        # Only another submitter lends: settings of the submitter's other results are a new choice
        and not same_organization(result.submitter, first.submitter)
    ]


def _changed(
    tree: Tree,
    verdict: ResultVerdict,
    first: EarlierResult,
    changed: list[str],
    lenders: list[EarlierResult],
    context: JudgingContext,
) -> Finding:
    location = tree.place(verdict.folder.path)
    settings = verdict.result.runs[0].facts.settings.as_dict()
    values: dict[str, Any] = {"changed": join_limited(changed), "first": first.display_path}
    profile = context.profile
    if not context.rules.benchmark(first.benchmark).borrowable:
        return NOT_ALLOWED.found(profile, location, **values, benchmark=first.benchmark)
    differences = {lender.display_path: differing(lender.settings, settings) for lender in lenders}
    # No tree declares the lender: assume the result that differs least
    nearest = min(
        differences, key=lambda display_path: len(differences[display_path]), default=None
    )
    if nearest is None:
        problem = "no other submitter has a result of the benchmark to borrow from"
    elif not differences[nearest]:
        return GROUP.found(profile, location, **values, lender=nearest)
    else:
        names = join_limited(differences[nearest])
        problem = f"expected all settings of one lender, but {nearest} differs in {names}"
    # Only a warning: the rules allow more changes with evidence, which is not in a tree
    return NOT_A_GROUP.found(profile, location, **values, problem=problem)


def _system(
    tree: Tree,
    system: str,
    first: EarlierResult,
    now: SystemDescription,
    context: JudgingContext,
) -> Iterator[Finding]:
    """Borrowing requires the same system, software and configuration."""
    then = first.description
    assert then is not None
    # A separate rule covers a change of scale; instances that are submitted with the original
    # ones are under another system's name
    resized = scale(now) != scale(then) or system != first.system
    changed = [
        key
        for key in changed_fields(then.given, now.given)
        # Free text: it may change while the system does not
        if not key.endswith("_notes")
        and not (context.rules.package.software_updates and key in _SOFTWARE)
        and not (resized and key in _SIZES)
    ]
    if changed:
        yield BORROWER_CHANGED.found(
            context.profile,
            tree.place(tree.systems[system]),
            fields=join_limited(changed),
            benchmark=first.benchmark,
        )
