"""Misplaced, missing or unknown files and folders in a submission's tree."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from podium.compliance.judging.inputs.benchmark_names import wrong_level
from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.inputs.tree_rules import (
    LINKED_FOLDER,
    MISNAMED_LOG,
    MISPLACED,
    STRUCTURE,
    UNKNOWN_BENCHMARK,
)
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.text.words import plural
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.edits import RESULT, SYSTEM, copy, remove, rename
from podium.rules.fixed.fixed_rule import both, policy
from podium.rules.model.round import Round

NO_RESULTS = policy(
    "tree.no-results",
    Severity.ERROR,
    says="a submission has logs in results/<system>/<benchmark>",
    why="without logs there is nothing to check",
    message="the submission has no results",
    help="put logs into results/<system>/<benchmark>/result_<i>.txt",
    cites=STRUCTURE,
    varies="a warning in training 0.5, where some submissions have only code",
    bad=(remove(RESULT),),
)
NO_DESCRIPTION = both(
    "tree.no-system-description",
    says="every system with results is described in systems/<system>.json",
    why="a result is published together with its system",
    message="results/{system} has no system description; expected systems/{system}.json",
    help="{advice}",
    cites=STRUCTURE,
    varies="a warning of the policy for a system without a benchmark's folder, and in rounds "
    "without a verifier; stated only by the official verifier for a system of 0.6 that is "
    "described next to its results, as in 0.5",
    bad=(rename(SYSTEM, "systems/other.json"),),
)
NO_RESULTS_OF_SYSTEM = policy(
    "tree.system-without-results",
    says="every system description belongs to a system with results",
    why="a description without results is unused, or its results are missing",
    message="{description} describes a system without results",
    help="add results/{system}, or remove the description",
    cites=STRUCTURE,
    bad=(copy(SYSTEM, "systems/spare.json"),),
)
NO_SYSTEMS = policy(
    "tree.no-systems",
    Severity.ERROR,
    says="a folder that contains results also contains systems",
    why="a folder without system descriptions is not a submission: its logs are checked, but "
    "their number, their seeds and their combined result are not; the official verifier "
    "crashes on it",
    message="the folder has results but no systems; its logs are checked one by one, not as a "
    "submission",
    help="describe each system in systems/<system>.json: podium doctor shows how",
    cites=STRUCTURE,
    varies="a note where no log is in results/<system>/<benchmark>, as in a submission",
    bad=(remove("systems"),),
)

NESTED = both(
    "tree.nested-submission",
    says="the folder of a submission is directly in the folder of its round",
    why="the official verifier is started for each folder in a round's folder; in a folder that "
    "only contains another folder it finds no results and crashes",
    message="the submission is in {folder}; expected its results and systems in {above}",
    help="move the content of {folder} up to {above}",
    cites=STRUCTURE,
    bad="a round's folder has AMD/AMD/results",
    good="it has AMD/results",
)


MOST_PER_RULE = 50
"""Findings of one rule beyond this number are only counted, in the last finding."""


def judge_tree(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    """Findings about misplaced, missing or unknown files and folders in a submission's tree."""
    yield from _descriptions(tree, context)
    # The official verifier accepts a package without results
    if not context.quirks.ignores_policy:
        if not tree.results:
            cause = UNKNOWN_BENCHMARK.id if tree.unjudged else ""
            cause = MISPLACED.id if tree.strays else cause
            severity = Severity.WARNING if context.rules.package.nested_submissions else None
            finding = NO_RESULTS.found(context.profile, tree.place("results"), severity=severity)
            yield replace(finding, caused_by=cause)
        # The help for a missing description names the descriptions that may be meant
        cause = "" if {*tree.systems}.issuperset(tree.result_systems) else NO_DESCRIPTION.id
        cause = MISPLACED.id if "" in tree.strays else cause
        for system, path in sorted(tree.systems.items()):
            if system not in tree.result_systems:
                finding = NO_RESULTS_OF_SYSTEM.found(
                    context.profile, tree.place(path), description=path, system=system
                )
                yield replace(finding, caused_by=cause)
    if tree.misplaced:
        yield from reported(tree, context)


_OF_A_RESULT = re.compile(r"results/[^/]+/(?:(?:strong|weak)/)?[^/]+/[^/]+")


def no_systems(folder: str, logs: Iterable[str]) -> Finding:
    """The finding about a folder that would be a submission if it had `systems`.

    It is a note if none of the logs is in its `results` as in a submission.
    """
    submitted = any(_OF_A_RESULT.fullmatch(os.path.relpath(log, folder)) for log in logs)
    severity = None if submitted else Severity.NOTE
    finding = NO_SYSTEMS.found(Profile.POLICY, folder, severity=severity)
    return replace(finding, official=submitted)


def no_results(folder: str, logs: Iterable[str]) -> Finding:
    """The finding about a folder with system descriptions whose logs are outside of `results`."""
    finding = NO_RESULTS.found(Profile.POLICY, os.path.normpath(f"{folder}/results"))
    relative = [os.path.relpath(log, folder) for log in logs]
    parents = [os.path.dirname(path) for path in relative if not path.startswith(os.pardir)]
    if parents:
        place = os.path.commonpath(parents) or "."
        move = f"move {plural(len(parents), 'log')} from {place} to results/<system>/<benchmark>/"
        finding = replace(finding, hint=move)
    return replace(finding, official=True)


def nested(folder: str) -> Finding:
    """The finding about a submission that is deeper than directly in its round's folder."""
    parent, name = os.path.split(folder)
    folder_name = name if folder == "." else folder
    finding = NESTED.found(
        Profile.POLICY, folder, folder=folder_name, above=parent or "the folder above it"
    )
    return replace(finding, official=True)


def linked_folder(link: str) -> Finding:
    """The finding about a link next to submissions, which is not followed."""
    name = link.rpartition("/")[2]
    problem = " next to submissions; links are not followed, so nothing in it is checked here"
    return LINKED_FOLDER.found(
        Profile.POLICY, link, stated_by=StatedBy.POLICY, name=name, problem=problem
    )


def misnamed_log(path: str) -> Finding:
    """The finding about a log next to loose logs that is not checked because of its name."""
    name = path.rpartition("/")[2]
    advice = "rename it to result_<i>.txt with an unused number, or pass it as a separate PATH"
    return MISNAMED_LOG.found(
        Profile.POLICY, path, severity=Severity.WARNING, name=name, more="", how=advice
    )


def _descriptions(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    for system in tree.result_systems:
        # In 0.5 every system is described next to its results, and no verifier requires more
        has_entry = system in tree.entries and not context.rules.verified
        if system in tree.systems or has_entry:
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
    """The help for a missing description: a file with another name may be meant for the system."""
    for candidate in tree.systems:
        if tree.disk.has(f"results/{system}", candidate):
            return wrong_level(system, candidate, rules)
    for folder, content in tree.disk.walk("systems"):
        for item in content.items:
            if item.name.casefold().startswith(f"{system}.json".casefold()):
                return f"rename {folder}/{item.name} to systems/{system}.json"
    init = f"run `podium system init systems/{system}.json` on the system"
    unused = sorted({*tree.systems} - {*tree.result_systems})
    if not unused:
        return init
    # The most similar name of an unused description
    matches = difflib.get_close_matches(system, unused, 1, 0.6)
    if matches or len(unused) == 1:
        name = (matches or unused)[0]
        return f"rename systems/{name}.json, which describes a system without results, or {init}"
    return f"rename one of the descriptions without results ({', '.join(unused)}), or {init}"


def _who_wants_description(tree: Tree, system: str, context: JudgingContext) -> StatedBy:
    """Who requires a description: the official verifier only for systems with benchmarks."""
    if not context.rules.verified or system not in tree.holding:
        return StatedBy.POLICY
    # The policy of 0.6 still accepted a description next to the results, as in 0.5.
    has_entry = context.rules.package.described_by_entry and system in tree.entries
    return StatedBy.VERIFIER if has_entry else StatedBy.BOTH


def reported(tree: Tree, context: JudgingContext) -> Iterator[Finding]:
    """Findings about misplaced files that the profile reports."""
    counts = Counter(finding.id for finding in tree.misplaced)
    reported_counts: Counter[str] = Counter()
    for finding in tree.misplaced:
        official = finding.stated_by is not StatedBy.POLICY
        if context.quirks.ignores_policy and not official:
            continue
        reported_counts[finding.id] += 1
        # All findings for which the verifier rejects are listed: the verdict may depend on them
        if reported_counts[finding.id] <= MOST_PER_RULE or official:
            last = reported_counts[finding.id] == MOST_PER_RULE
            omitted = counts[finding.id] - MOST_PER_RULE if last else 0
            yield _with_more(finding, omitted) if omitted > 0 else finding


def _with_more(finding: Finding, omitted: int) -> Finding:
    return replace(finding, message=f"{finding.message} (and {omitted} more)")
