"""What is misplaced, missing or unknown in a submission's tree."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from podium.compliance.judging.inputs.benchmark_names import is_early, levels_swapped
from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.inputs.tree_rules import (
    LINKED_FOLDER,
    MISNAMED_LOG,
    STRUCTURE,
    UNKNOWN_BENCHMARK,
)
from podium.compliance.judging.results.official import JudgingContext
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.edits import RESULT, SYSTEM, copy, remove, rename
from podium.rules.fixed.fixed_rule import both, policy
from podium.rules.model.round import Round

NO_RESULTS = policy(
    "tree.no-results",
    Severity.ERROR,
    says="a submission has logs under results/<system>/<benchmark>",
    why="without them there is nothing to judge",
    message="the submission holds no result",
    help="put logs into results/<system>/<benchmark>/result_<i>.txt",
    cites=STRUCTURE,
    varies="a warning in training 0.5, whose submissions have folders of code alone",
    bad=(remove(RESULT),),
)
NO_DESCRIPTION = both(
    "tree.no-system-description",
    says="every system with results is described in systems/<system>.json",
    why="a result is published with the system it was made on",
    message="results/{system} has no description in systems; must have {system}.json",
    help="{advice}",
    cites=STRUCTURE,
    varies="a warning of the policy for a system without a benchmark's folder, and in rounds "
    "without a verifier; by the official verifier alone for a system of 0.6 that is described "
    "beside its results, as in 0.5",
    bad=(rename(SYSTEM, "systems/other.json"),),
)
NO_RESULTS_OF_SYSTEM = policy(
    "tree.system-without-results",
    says="every system that is described has results",
    why="a description without results was left behind, or its results are missing",
    message="{description} describes a system that has no results",
    help="add results/{system}, or remove the description",
    cites=STRUCTURE,
    bad=(copy(SYSTEM, "systems/spare.json"),),
)
NO_SYSTEMS = policy(
    "tree.no-systems",
    Severity.ERROR,
    says="a folder with results has systems beside them",
    why="without descriptions of its systems a folder is no submission: its logs are judged, but "
    "not the number of runs, their seeds or what they reach together; the official verifier ends "
    "without a verdict on it",
    message="the folder has results, but no systems: its logs are judged one by one, not as a "
    "submission",
    help="describe each system in systems/<system>.json: podium doctor says how",
    cites=STRUCTURE,
    varies="a note where no log lies in results/<system>/<benchmark>, as those of a submission do",
    bad=(remove("systems"),),
)

NESTED = both(
    "tree.nested-submission",
    says="a submission lies directly in the folder of its round",
    why="the official verifier is started for the folders in a round's; in one that only holds "
    "another folder it finds no results and ends without a verdict",
    message="the submission is in {folder}; its results and systems must be in {above}",
    help="move what is in {folder} up to {above}",
    cites=STRUCTURE,
    bad="a round's folder has AMD/AMD/results",
    good="it has AMD/results",
)


MOST_PER_RULE = 50
"""Findings of one rule beyond this many are counted in the last one."""


def judge_tree(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    """What is misplaced, missing or unknown in a submission's tree."""
    yield from _descriptions(tree, context)
    # The official verifier passes a package without any result
    if not context.quirks.ignores_policy:
        if not tree.results:
            named = UNKNOWN_BENCHMARK.id if tree.unjudged else ""
            severity = Severity.WARNING if context.rules.package.nested_submissions else None
            found = NO_RESULTS.found(context.profile, tree.place("results"), severity=severity)
            yield replace(found, caused_by=named)
        yield from _surplus(tree, context)
    yield from reported(tree, context)


_OF_A_RESULT = re.compile(r"results/[^/]+/(?:(?:strong|weak)/)?[^/]+/[^/]+")


def no_systems(folder: str, logs: Iterable[str]) -> Finding:
    """A folder that would be a submission if it had `systems`.

    A note where none of the logs lies in its `results` as those of a submission do.
    """
    submitted = any(_OF_A_RESULT.fullmatch(os.path.relpath(log, folder)) for log in logs)
    severity = None if submitted else Severity.NOTE
    found = NO_SYSTEMS.found(Profile.POLICY, folder, severity=severity)
    return replace(found, official=submitted)


def no_results(folder: str) -> Finding:
    """A folder with descriptions of systems, and logs elsewhere than in `results`."""
    found = NO_RESULTS.found(Profile.POLICY, os.path.normpath(f"{folder}/results"))
    return replace(found, official=True)


def nested(folder: str) -> Finding:
    """A submission that lies deeper than in its round's folder."""
    above, name = os.path.split(folder)
    shown = name if folder == "." else folder
    found = NESTED.found(Profile.POLICY, folder, folder=shown, above=above or "the folder above it")
    return replace(found, official=True)


def linked_folder(link: str) -> Finding:
    """A link to a folder beside submissions: it is not followed, and nothing in it judged."""
    name = link.rpartition("/")[2]
    problem = ", beside submissions; links are not followed, so nothing in it is judged here"
    return LINKED_FOLDER.found(
        Profile.POLICY, link, stated_by=StatedBy.POLICY, name=name, problem=problem
    )


def misnamed_log(path: str) -> Finding:
    """A log next to loose logs that is not judged for its name."""
    name = path.rpartition("/")[2]
    how = "rename it to result_<i>.txt with a number that is free, or name it as a PATH of its own"
    return MISNAMED_LOG.found(
        Profile.POLICY, path, severity=Severity.WARNING, name=name, more="", how=how
    )


def _descriptions(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    for system in tree.result_systems:
        # In 0.5 every system is described beside its results, and no verifier asks for more
        beside = system in tree.entries and not context.rules.verified
        if system in tree.systems or beside:
            continue
        stated_by = _who_wants_description(tree, system, context)
        if context.quirks.ignores_policy and stated_by is StatedBy.POLICY:
            continue
        yield NO_DESCRIPTION.found(
            context.profile,
            tree.place(f"systems/{system}.json"),
            stated_by=stated_by,
            system=system,
            advice=_advice(tree, system, context.rules),
        )


def _advice(tree: Tree, system: str, rules: Round) -> str:
    """How a system gets its description: a file under another name is probably meant for it."""
    for below in tree.systems:
        swapped = levels_swapped(system, below, rules)
        if swapped and tree.disk.has(f"results/{system}", below):
            return swapped
    init = f"run `podium system init systems/{system}.json` on the system"
    unused = sorted({*tree.systems} - {*tree.result_systems})
    if not unused:
        return init
    # Of those that describe no other system the name that is most alike
    near = difflib.get_close_matches(system, unused, 1, 0.6)
    if near or len(unused) == 1:
        name = (near or unused)[0]
        return f"rename systems/{name}.json, which describes no system with results, or {init}"
    return (
        f"rename one of those that describe no system with results ({', '.join(unused)}), or {init}"
    )


def _who_wants_description(tree: Tree, system: str, context: JudgingContext) -> StatedBy:
    """Who misses a description: the official verifier only of systems with benchmarks."""
    if not context.rules.verified or system not in tree.holding:
        return StatedBy.POLICY
    # The policy of 0.6 still took the description of 0.5, beside the results.
    early = is_early(context.rules) and system in tree.entries
    return StatedBy.VERIFIER if early else StatedBy.BOTH


def _surplus(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    for system, path in sorted(tree.systems.items()):
        if system not in tree.result_systems:
            yield NO_RESULTS_OF_SYSTEM.found(
                context.profile, tree.place(path), description=path, system=system
            )


def reported(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    """What is misplaced, as far as the profile rejects it or warns of it."""
    counts = Counter(finding.id for finding in tree.misplaced)
    named: Counter[str] = Counter()
    for finding in tree.misplaced:
        official = finding.stated_by is not StatedBy.POLICY
        if context.quirks.ignores_policy and not official:
            continue
        named[finding.id] += 1
        # What the verifier rejects is listed in full: the verdict may rest on it
        if named[finding.id] <= MOST_PER_RULE or official:
            last = named[finding.id] == MOST_PER_RULE
            more = counts[finding.id] - MOST_PER_RULE if last else 0
            yield _with_more(finding, more) if more > 0 else finding


def _with_more(finding: Finding, more: int) -> Finding:
    return replace(finding, message=f"{finding.message} (and {more} more such things)")
