"""Marks on findings of a log that follow from another finding, so that only the cause is shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

import msgspec

from podium.compliance.judging.logs import log_rules
from podium.compliance.judging.logs.contents import other_encoding
from podium.logging_spec.reader.log import CUTS, Fault, Log
from podium.rules.checks import catalogue
from podium.rules.consequences import (
    CONTENT,
    OF_ANOTHER_BENCHMARK,
    OF_REPEATED_RECORDS,
    OF_THE_BEGINNING,
    ROWS,
    UNREAD_LINES,
    Follows,
    Reach,
    mark,
    same_line,
)
from podium.rules.finding import Finding
from podium.rules.fixed.fixed_rule import declared_in
from podium.rules.table import ONCE

_OF_THE_COURSE = ("pairing.", "evaluation.", "progress.", "run.", "speed.", "epochs.")
"""Groups of checks on the sequence of records, which missing records violate."""

_COURSE = frozenset(
    f"{event}_{end}"
    for event in ("init", "run", "block", "epoch", "eval")
    for end in ("start", "stop")
) | {"eval_accuracy", "eval_error"}


class Causes(msgspec.Struct, frozen=True):
    """Data about the causes of a log's findings.

    `repeats` are the ids of rules that only report repeated records. `unread` are the ids of rules
    that are violated only because the official reader cannot read some lines. `keys` are the keys
    in such lines, and `cut` means that lines are missing. `without_value` are the lines of records
    without a value, `without_metadata` the lines of records without metadata.
    """

    repeats: Collection[str] = ()
    unread: Collection[str] = ()
    keys: frozenset[str] = frozenset()
    cut: bool = False
    without_value: Collection[int] = ()
    without_metadata: Collection[int] = ()

    def explain(self, _: Finding, finding: Finding) -> bool:
        """Whether a finding follows from lines that are not read."""
        if finding.id in self.unread or finding.line in self.without_value:
            return True
        if finding.line in self.without_metadata and "metadata" in finding.message:
            return True
        if not self.keys and not self.cut:
            return False
        if finding.line is None:
            words = {finding.key} if finding.key else {*finding.message.split()}
            return self.cut or not self.keys.isdisjoint(words)
        of_course = _of_the_course(finding) or finding.id.endswith(".target")
        return of_course and (self.cut or not self.keys.isdisjoint(_COURSE))


def causes_in(log: Log, repeats: Collection[str], unread_rules: Collection[str]) -> Causes:
    """The data about causes in a log."""
    return Causes(
        repeats,
        unread_rules,
        frozenset(fault.key for fault in log.faults if fault.key),
        any(fault.kind in CUTS for fault in log.faults) or other_encoding(log) is not None,
        _lines_without("value", log),
        _lines_without("metadata", log),
    )


def _lines_without(member: str, log: Log) -> Collection[int]:
    missing_faults = (fault for fault in log.faults if fault.kind is Fault.MISSING)
    return {log.line_of(fault) or 0 for fault in missing_faults if member in fault.message}


def mark_consequences(findings: Sequence[Finding], causes: Causes) -> list[Finding]:
    """The findings of one log; findings that follow from another are marked."""
    of_unread_lines = tuple(
        Follows(entry.cause, entry.reach, causes.explain) for entry in UNREAD_LINES
    )

    def declared(rule: str) -> Sequence[Follows]:
        follows = follows_of_log(rule)
        if rule in causes.repeats:
            follows = (*follows, *OF_REPEATED_RECORDS)
        # Findings about lines do not follow from each other
        if rule in _FAULTS_OF_LINES:
            return follows
        return (*follows, *of_unread_lines, *_OF_SEVERAL.get(rule, _OF_OTHERS))

    return mark(findings, declared, _file) if len(findings) > 1 else [*findings]


def _of_the_course(finding: Finding) -> bool:
    """Whether a finding is about the sequence of a run's records."""
    return finding.id.startswith(_OF_THE_COURSE) or finding.key in _COURSE


def _of_attempts(_: Finding, finding: Finding) -> bool:
    """Whether a finding is about order, or about too many records."""
    count = finding.actual
    return _of_the_course(finding) or (finding.expected == ONCE.text and type(count) is int)


def _of_the_end(cause: Finding, finding: Finding) -> bool:
    """Whether a finding is about a record that a run without a run_stop cannot have."""
    is_about_course = finding.line is None and not _COURSE.isdisjoint(finding.message.split())
    return cause.line is None and (is_about_course or finding.id.endswith(".target"))


def _of_the_start(cause: Finding, finding: Finding) -> bool:
    return cause.line is None and "run_start" in finding.message


def _of_initialization(cause: Finding, finding: Finding) -> bool:
    is_other = finding.id != cause.id and finding.line is not None
    return cause.line is None and is_other and str(cause.key) in finding.message


def _of_the_type(cause: Finding, finding: Finding) -> bool:
    """Whether a finding is about a value that is not a number, or needs this value."""
    name = cause.message.partition(" is ")[0].partition(" of ")[0]
    return name == finding.key or name in finding.message or name in finding.expected


def _of_the_division(cause: Finding, finding: Finding) -> bool:
    return finding.id != cause.id and "submission_division" in finding.message


def _of_times(_: Finding, finding: Finding) -> bool:
    return _of_the_course(finding)


_FAULTS_OF_LINES = frozenset(entry.cause for entry in UNREAD_LINES)

_OF_SEVERAL_RUNS = (
    Follows("log.several-attempts", when=_of_attempts),
    Follows("run.time-unit", when=_of_times),
    # A run that was interrupted has not reached its target
    Follows("common.run_stop", when=_of_the_end),
    Follows("common.run_start", when=_of_the_start),
    Follows("log.wrong-type", when=_of_the_type),
    Follows("common.submission_division", when=_of_the_division),
    # The outputs of ranks may be joined one after the other
    Follows("log.repeated-by-ranks", when=_of_attempts),
)
_OF_INITIALIZATION = (
    OF_THE_BEGINNING,
    Follows("common.init_start", when=_of_initialization),
    Follows("common.init_stop", when=_of_initialization),
)
_OF_OTHERS = (*_OF_SEVERAL_RUNS, *_OF_INITIALIZATION)
_OF_A_REPEAT = Follows("run.repeated-marker", when=same_line)
_OF_SEVERAL: Mapping[str, tuple[Follows, ...]] = {
    "log.several-attempts": (),
    "log.repeated-by-ranks": (),
    "common.submission_division": (*_OF_SEVERAL_RUNS[:1], OF_THE_BEGINNING),
    "log.wrong-type": _OF_SEVERAL_RUNS[:1],
    "run.time-unit": _OF_SEVERAL_RUNS[:1],
    "common.run_start": (*_OF_SEVERAL_RUNS[:2], *_OF_INITIALIZATION, _OF_A_REPEAT),
    "common.init_start": _OF_SEVERAL_RUNS,
    "common.init_stop": (*_OF_SEVERAL_RUNS, *_OF_INITIALIZATION[:2]),
    "common.run_stop": (*_OF_SEVERAL_RUNS[:2], _OF_SEVERAL_RUNS[3]),
}
"""The causes of rules that are causes themselves, without cycles."""


def _file(finding: Finding, reach: Reach) -> str:
    return finding.path if reach is Reach.FILE else ""


def follows_of_log(rule: str) -> Sequence[Follows]:
    """The causes of the findings of a rule about a log, by the rule's id.

    Rules that are not declared here are rows of tables, or rules of plug-ins and of podium.toml.
    """
    declared = _declared().get(rule)
    return (*CONTENT, *ROWS.get(rule.partition(".")[0], ())) if declared is None else declared


@cache
def _declared() -> Mapping[str, Sequence[Follows]]:
    fixed_rules = {
        rule.id: (*CONTENT, *rule.follows) if rule.reads_content else rule.follows
        for rule in declared_in(log_rules)
    }
    return fixed_rules | {
        check.id: (*CONTENT, *check.follows, *_OF_GROUPS.get(check.id.partition(".")[0], ()))
        for check in catalogue.HPC
    }


def _after(cause: Finding, finding: Finding) -> bool:
    return (finding.line or 0) > (cause.line or 0)


_OF_ANOTHER_START = (Follows("run.repeated-marker", when=_after),)

_OF_GROUPS = {
    "evaluation": (OF_ANOTHER_BENCHMARK,),
    # Training that continues from a checkpoint repeats positions
    "progress": _OF_ANOTHER_START,
    "pairing": _OF_ANOTHER_START,
}
"""Additional causes of checks, by the first part of their ids: schedules are of a benchmark."""
