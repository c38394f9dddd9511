"""One fact that several rules report: one finding is read, the others are marked as following.

What follows within a log alone is marked by `logs.root_causes`; here are the facts that files,
results and system descriptions share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.tree_rules import UNKNOWN_FILE
from podium.compliance.judging.logs.log_rules import (
    BAD_TIME,
    NO_RECORDS,
    NOT_AN_OBJECT,
    NOT_JSON,
    UNREADABLE_FILE,
    VERIFIER_CRASH,
)
from podium.compliance.judging.logs.log_rules import MISSING_FIELD as MISSING_FIELD_OF_LINE
from podium.compliance.judging.repository.repository_rules import DOT
from podium.compliance.judging.results.rules.consistency_rules import COPIED_RUN, OTHER_DIVISION
from podium.compliance.judging.results.rules.run_rules import (
    BROKEN_RUN_DROPPED,
    NOT_CONVERGED,
    RCP_FAILED,
    RCP_MISSING,
    TOO_FEW_RUNS,
    TOO_MANY_FAILED_RUNS,
    TOO_MANY_RUNS,
    UNSUPPORTED_SCALING,
)
from podium.compliance.judging.results.rules.seed_rules import NONE as NO_SEED
from podium.compliance.judging.results.rules.seed_rules import NOT_INTEGER as SEED_NOT_INTEGER
from podium.compliance.judging.results.rules.seed_rules import SOURCE as SEED_SOURCE
from podium.compliance.judging.results.rules.seed_rules import SOURCE_EXTENSIONS
from podium.compliance.judging.results.rules.seed_rules import UNREADABLE_LOG as UNREADABLE_SEEDS
from podium.compliance.judging.submission.code_rules import SOURCE_NOT_FOUND
from podium.compliance.judging.systems.agreement import same_organisation
from podium.compliance.judging.systems.system_rules import (
    DIVISION_MISMATCH,
    MISSING_FIELD,
    MISSPELT_FIELD,
    NAME_MISMATCH,
    SUBMITTER_MISMATCH,
)
from podium.compliance.reporting.grouping import RANK
from podium.rules.checks.lifecycle import repeated_by_ranks
from podium.rules.finding import Finding, Severity
from podium.rules.fixed.former_ids import matches


class Reach(Enum):
    """How far from its cause a consequence may lie."""

    FILE = auto()  # in the same file
    RESULT = auto()  # at the result that the cause is in, or in a file of it
    SYSTEM = auto()  # in the results of the system that the cause describes


def _only_warned(_: Finding, finding: Finding) -> bool:
    # A factor below what is allowed is a fault of its own
    return finding.severity is Severity.WARNING


def _without_a_mean(cause: Finding, finding: Finding) -> bool:
    # Where the runs have a mean, the factor that brings it to the reference's is known
    return cause.actual is None and _only_warned(cause, finding)


def _right_name(cause: Finding, finding: Finding) -> bool:
    return finding.key == cause.expected


def _same_file(cause: Finding, finding: Finding) -> bool:
    # That a seed is logged in no source file at all is another fact
    source = str(finding.actual).endswith(tuple(SOURCE_EXTENSIONS))
    return source and finding.actual in cause.actual


def _named_as_the_folder(cause: Finding, finding: Finding) -> bool:
    return same_organisation(cause.expected, str(finding.actual))


def _same_line(cause: Finding, finding: Finding) -> bool:
    return finding.line == cause.line or f"line {cause.line}:" in finding.message


class Link(msgspec.Struct, frozen=True):
    """What follows from a finding: globs of rule ids, how far away, and which findings of them."""

    cause: str
    rules: tuple[str, ...]
    reach: Reach = Reach.FILE
    when: Callable[[Finding, Finding], bool] | None = None


_WITHOUT_A_RUN = (RCP_FAILED.id, TOO_MANY_FAILED_RUNS.id, NOT_CONVERGED.id)

LINKS: tuple[Link, ...] = (
    # A log without records lacks all that a result asks of its runs
    *(Link(rule, ("*",)) for rule in (UNREADABLE_FILE.id, NO_RECORDS.id)),
    *(Link(rule, _WITHOUT_A_RUN, Reach.RESULT) for rule in (UNREADABLE_FILE.id, NO_RECORDS.id)),
    # What a line lacks, the official programs say in their own words
    *(
        Link(rule.id, (UNREADABLE_SEEDS.id, VERIFIER_CRASH.id), when=_same_line)
        for rule in (NOT_JSON, NOT_AN_OBJECT, MISSING_FIELD_OF_LINE, BAD_TIME)
    ),
    Link(repeated_by_ranks.id, ("seeds.*", BROKEN_RUN_DROPPED.id)),
    Link(repeated_by_ranks.id, (TOO_MANY_FAILED_RUNS.id,), Reach.RESULT),
    # Logs and results have rules on seeds of their own, which say the same
    Link(NO_SEED.id, ("seed.missing",)),
    Link(SEED_NOT_INTEGER.id, ("seed.not-integer",)),
    Link(SOURCE_NOT_FOUND.id, (SEED_SOURCE.id,), Reach.RESULT, _same_file),
    Link(COPIED_RUN.id, ("seeds.*",)),
    Link(DOT.id, (UNKNOWN_FILE.id,)),
    Link(MISSPELT_FIELD.id, (MISSING_FIELD.id,), when=_right_name),
    # Logs of the other division are judged by its rules, which need not be meant
    Link(
        DIVISION_MISMATCH.id,
        (OTHER_DIVISION.id, "open.*", TOO_MANY_FAILED_RUNS.id, BROKEN_RUN_DROPPED.id),
        Reach.SYSTEM,
    ),
    Link(NAME_MISMATCH.id, (SUBMITTER_MISMATCH.id,), Reach.SYSTEM, _named_as_the_folder),
    Link(DIVISION_MISMATCH.id, (UNSUPPORTED_SCALING.id,), Reach.SYSTEM, _only_warned),
    Link(OTHER_DIVISION.id, ("open.*", BROKEN_RUN_DROPPED.id)),
    # Without the right number of runs there is no test of convergence, and no factor without it
    Link(TOO_FEW_RUNS.id, (RCP_FAILED.id,), Reach.RESULT),
    *(
        Link(rule, (UNSUPPORTED_SCALING.id,), Reach.RESULT, _without_a_mean)
        for rule in (RCP_FAILED.id, RCP_MISSING.id)
    ),
    Link(TOO_MANY_RUNS.id, (UNSUPPORTED_SCALING.id,), Reach.RESULT, _only_warned),
)
"""The first that holds names the cause; what was marked before keeps its own."""


def traced(findings: Sequence[Finding], described: Mapping[str, str]) -> list[Finding]:
    """The findings, those marked that follow from another one.

    `described` has the path of each result, with that of the description of its system, "" where it
    has none. A consequence never weighs more than its cause: a report that rejects must say why.
    """
    counting = {each.id for each in findings if not each.waived}
    links = [link for link in LINKS if link.cause in counting]
    if not links:
        return list(findings)
    tracer = _Tracer(findings, links, described)
    return [tracer.marked(each) for each in findings]


class _Tracer:
    def __init__(
        self, findings: Sequence[Finding], links: Sequence[Link], described: Mapping[str, str]
    ) -> None:
        self.links, self.described = links, described
        self.of_rule: dict[str, list[Link]] = {}
        self.causes: dict[tuple[str, Reach, str], list[Finding]] = {}
        reaches = {(link.cause, link.reach) for link in links}
        for each in findings:
            for reach in Reach:
                if (each.id, reach) in reaches and not each.waived:
                    place = each.path if reach is Reach.SYSTEM else self.place(each, reach)
                    self.causes.setdefault((each.id, reach, place), []).append(each)

    def marked(self, finding: Finding) -> Finding:
        if finding.waived or finding.caused_by:
            return finding
        links = self.of_rule.get(finding.id)
        if links is None:
            links = [link for link in self.links if matches(finding.id, link.rules)]
            self.of_rule[finding.id] = links
        for link in links:
            place = self.place(finding, link.reach)
            for cause in self.causes.get((link.cause, link.reach, place), ()) if place else ():
                if _follows(finding, cause, link):
                    return replace(finding, caused_by=cause.id)
        return finding

    def place(self, finding: Finding, reach: Reach) -> str:
        """What causes are looked up by: the file, the result or its description; "" for none."""
        if reach is Reach.FILE:
            return finding.path
        result = finding.path
        if result not in self.described:
            result = os.path.dirname(result) or "."
        if result not in self.described:
            return ""
        return self.described[result] if reach is Reach.SYSTEM else result


def _follows(finding: Finding, cause: Finding, link: Link) -> bool:
    if cause.id == finding.id or RANK[cause.severity] > RANK[finding.severity]:
        return False
    return link.when is None or link.when(cause, finding)
