"""What is misplaced, missing or unknown in a submission's tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podium.compliance.inputs.benchmark_names import is_early
from podium.compliance.inputs.layout import Misplaced, Tree
from podium.compliance.results.model import JudgingContext
from podium.rules.finding import Finding, Severity, StatedBy

MOST_PER_RULE = 50
"""Findings of one rule beyond this many are counted in the last one."""

_NOTES = frozenset({"tree.unknown-folder"})


def judge_tree(tree: Tree, by: JudgingContext) -> Iterator[Finding]:
    """What is misplaced, missing or unknown in a submission's tree."""
    if not tree.results and not by.verifier:
        hint = "put logs into results/<system>/<benchmark>/result_<i>.txt"
        yield by.finding(
            "tree.no-results", tree.place("results"), "the submission holds no result", hint
        )
    yield from _descriptions(tree, by)
    yield from _surplus(tree, by)
    yield from _misplaced(tree, by)


def no_systems(folder: str) -> Finding:
    """A folder that would be a submission if it had `systems`: a note, as its logs are judged."""
    return Finding(
        "tree.no-systems",
        Severity.NOTE,
        folder,
        None,
        None,
        "the folder has results, but no systems: its logs are judged one by one, not as a "
        "submission",
        hint="describe each system in systems/<system>.json: podium doctor says how",
        cites="submission rules, Directory structure",
        stated_by=StatedBy.POLICY,
    )


def linked_folder(link: str) -> Finding:
    """A link to a folder beside submissions: it is not followed, and nothing in it judged."""
    return Finding(
        "tree.linked-folder",
        Severity.WARNING,
        link,
        None,
        None,
        "a link to a folder stands where submissions do; links are not followed, so that nothing "
        "in it is judged here",
        hint="name the folder that it leads to as a PATH of its own",
        stated_by=StatedBy.POLICY,
    )


def _descriptions(tree: Tree, by: JudgingContext) -> Iterator[Finding]:
    for system in tree.result_systems:
        if system in tree.systems:
            continue
        stated_by = _who_wants_description(tree, system, by)
        if by.verifier and stated_by is StatedBy.POLICY:
            continue
        described = ", ".join(sorted(tree.systems))
        yield by.finding(
            "tree.no-system-description",
            tree.place(f"systems/{system}.json"),
            f"results/{system} has no description in systems; must have {system}.json",
            f"run `podium system init`, or rename the folder to one of {described}"
            if described
            else "run `podium system init` on the system",
            stated_by=stated_by,
        )


def _who_wants_description(tree: Tree, system: str, by: JudgingContext) -> StatedBy:
    """Who misses a description: the official verifier only of systems with benchmarks."""
    if not by.rules.verified or system not in tree.holding:
        return StatedBy.POLICY
    # The policy of 0.6 still took the description of 0.5, beside the results.
    early = is_early(by.rules) and system in tree.entries
    return StatedBy.VERIFIER if early else StatedBy.BOTH


def _surplus(tree: Tree, by: JudgingContext) -> Iterator[Finding]:
    if by.verifier:
        return
    for system, path in sorted(tree.systems.items()):
        if system not in tree.result_systems:
            yield by.finding(
                "tree.system-without-results",
                tree.place(path),
                f"{path} describes a system that has no results",
                f"add results/{system}, or remove the description",
                stated_by=StatedBy.POLICY,
            )


def _misplaced(tree: Tree, by: JudgingContext) -> Iterator[Finding]:
    counts = Counter(thing.rule for thing in tree.misplaced)
    told: Counter[str] = Counter()
    for thing in tree.misplaced:
        if by.verifier and not thing.official:
            continue
        told[thing.rule] += 1
        if told[thing.rule] <= MOST_PER_RULE or thing.official:
            last = told[thing.rule] == MOST_PER_RULE
            more = counts[thing.rule] - MOST_PER_RULE if last else 0
            yield _about(tree, thing, more, by)


def _about(tree: Tree, thing: Misplaced, more: int, by: JudgingContext) -> Finding:
    return by.finding(
        thing.rule,
        tree.place(thing.path),
        f"{thing.why} (and {more} more such things)" if more > 0 else thing.why,
        thing.hint,
        stated_by=StatedBy.BOTH if thing.official else StatedBy.POLICY,
        note=thing.rule in _NOTES,
    )
