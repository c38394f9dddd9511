"""Findings that follow from other findings: rules declare them, so one fault is reported once.

A rule lists the rules whose findings may cause its findings in `follows`. The declarations have no
cycle, and `mark` creates none. From each marked finding a chain of causes leads to a finding that
is not marked, counts, and has at least the same severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto

import msgspec
from msgspec.structs import replace

from podium.rules.finding import RANK, Finding


class Reach(Enum):
    """How far from its cause a consequence may be."""

    FILE = auto()
    """In the same file."""
    RESULT = auto()
    """In the same result, or in one of its files."""
    SYSTEM = auto()
    """In the results of the system that the cause describes."""
    MARKED = auto()
    """Marked only by the code that reports the cause."""


Condition = Callable[[Finding, Finding], bool]
"""Whether a finding follows from a cause; called with the cause first."""


class Follows(msgspec.Struct, frozen=True):
    """A possible cause: the id of the causing rule, its distance, and a condition."""

    cause: str
    reach: Reach = Reach.FILE
    when: Condition | None = None


Declared = Callable[[str], Sequence[Follows]]
"""Possible causes by the id of the rule; the first that applies is the cause."""

OF_REPEATED_RECORDS = (Follows("log.several-attempts"), Follows("log.repeated-by-ranks"))
"""Causes of findings about records that are in a log more than once."""

OF_ANOTHER_ROUND = Follows("round.mismatch", Reach.MARKED)


def _absence(_: Finding, finding: Finding) -> bool:
    """Whether a finding is about a missing record: rules still apply to all legible lines."""
    return finding.line is None


CONTENT = (
    Follows("log.unreadable-file"),
    Follows("log.no-records", when=_absence),
    OF_ANOTHER_ROUND,
)
"""Causes of all findings about the content of a log: no content, or content of another round."""

UNREAD_LINES = tuple(
    Follows(f"log.{fault}")
    for fault in (
        "encoding",
        "quoted-record",
        "color-codes",
        "missing-token",
        "text-after-record",
        "missing-field",
        "truncated",
        "not-json",
        "not-an-object",
        "bad-time",
        "nonstandard-dialect",
        "several-records",
        "cut-out",
        "broken-compression",
    )
)
"""The faults of lines that prevent records from being read, the most informative first."""


def _of_that_benchmark(cause: Finding, finding: Finding) -> bool:
    """Whether a finding is about the wrong name, or about a rule of the benchmark of that name."""
    rules_of, _, rule = finding.id.partition(".")
    name = f" submission_benchmark {rule.partition('.')[0]};"
    return (
        finding.key == "submission_benchmark" or rules_of == "evaluation" or name in cause.message
    )


OF_ANOTHER_BENCHMARK = Follows("result.other-benchmark", when=_of_that_benchmark)
"""A cause of findings of a log that names another benchmark than its folder."""

ROWS: Mapping[str, tuple[Follows, ...]] = {
    "common": (OF_ANOTHER_BENCHMARK,),
    "closed": (OF_ANOTHER_BENCHMARK,),
    # Logs of the other division are checked with its rules, perhaps unintentionally
    "open": (
        Follows("system.division-mismatch", Reach.SYSTEM),
        Follows("result.other-division"),
        OF_ANOTHER_BENCHMARK,
    ),
}
"""Additional causes of table rows, by the first part of their ids."""


def _of_the_beginning(cause: Finding, finding: Finding) -> bool:
    is_absence = finding.line is None and finding.id not in (cause.id, "common.run_stop")
    return is_absence and cause.hint.startswith(FIRST_RECORD)


FIRST_RECORD = "the first record is "
"""The start of the help for a log whose beginning is missing."""

OF_THE_BEGINNING = Follows("common.init_start", when=_of_the_beginning)
"""A cause of findings about missing records: the log lacks its beginning."""


def same_line(cause: Finding, finding: Finding) -> bool:
    """Whether a finding is about the same line as its cause."""
    return finding.line == cause.line or f"line {cause.line}:" in finding.message


def of_its_file(cause: Finding, finding: Finding) -> bool:
    """Whether a finding about a result names the file of its cause."""
    return cause.path.rpartition("/")[2] in finding.message


OF_A_NAMED_FILE = tuple(
    Follows(cause, Reach.RESULT, of_its_file)
    for cause in ("log.wrong-type", *(link.cause for link in UNREAD_LINES))
)
"""Causes of findings about a result that name the run at fault."""

OF_THE_SAME_LINE = tuple(
    Follows(f"log.{fault}", when=same_line)
    for fault in (
        "not-json",
        "not-an-object",
        "missing-field",
        "bad-time",
        "text-after-record",
        "quoted-record",
        "color-codes",
        "truncated",
    )
)
"""Causes of findings in which the official programs name a line that they cannot read."""


def mark(
    findings: Sequence[Finding],
    declared: Declared,
    place: Callable[[Finding, Reach], str],
) -> list[Finding]:
    """The findings, with those marked that follow from another one.

    `place` returns the place at which causes of a reach are looked up. The place is equal for a
    cause and its consequences, and "" means nowhere. An existing mark stays, unless its cause is
    waived or absent.
    """
    return _Marker(findings, declared, place).marked()


class _Marker:
    def __init__(
        self,
        findings: Sequence[Finding],
        declared: Declared,
        place: Callable[[Finding, Reach], str],
    ) -> None:
        self.findings, self.place = findings, place
        self.counting = [finding for finding in findings if not finding.waived]
        ids = {finding.id for finding in self.counting}
        self.follows = {
            rule: [link for link in declared(rule) if link.cause in ids] for rule in ids
        }
        self.cause_of: dict[int, Finding] = {}
        """The cause of each finding, by the identity of the finding."""

    def marked(self) -> list[Finding]:
        self._check_marks()
        causes = self._by_place()
        for finding in self.counting if causes else ():
            if id(finding) not in self.cause_of:
                self._link(finding, self._possible_causes(finding, causes))
        return [self._with_cause(finding) for finding in self.findings]

    def _check_marks(self) -> None:
        """Find the causes of findings that are already marked: in the same file, else anywhere."""
        marks = {finding.caused_by for finding in self.counting if finding.caused_by}
        in_file: dict[tuple[str, str], list[Finding]] = {}
        in_round: dict[str, list[Finding]] = {}
        for finding in self.findings if marks else ():
            if finding.id in marks:
                in_file.setdefault((finding.id, finding.path), []).append(finding)
                in_round.setdefault(finding.id, []).append(finding)
        for finding in self.counting:
            if finding.caused_by:
                candidates = in_file.get((finding.caused_by, finding.path)) or in_round.get(
                    finding.caused_by, []
                )
                self._link(finding, (cause for cause in candidates if not cause.waived))

    def _link(self, finding: Finding, causes: Iterable[Finding]) -> None:
        """Link a finding to the first of these causes that it may follow from."""
        for cause in causes:
            if RANK[cause.severity] <= RANK[finding.severity] and not self._leads(cause, finding):
                self.cause_of[id(finding)] = cause
                return

    def _leads(self, cause: Finding | None, finding: Finding) -> bool:
        """Whether the chain of causes of `cause`, itself included, contains `finding`."""
        while cause is not None:
            if cause is finding:
                return True
            cause = self.cause_of.get(id(cause))
        return False

    def _with_cause(self, finding: Finding) -> Finding:
        if finding.waived:
            return finding
        cause = self.cause_of.get(id(finding))
        caused_by = "" if cause is None else cause.id
        return finding if finding.caused_by == caused_by else replace(finding, caused_by=caused_by)

    def _by_place(self) -> dict[tuple[str, Reach, str], list[Finding]]:
        reaches: dict[str, set[Reach]] = {}
        for follows in self.follows.values():
            for link in follows:
                reaches.setdefault(link.cause, set()).add(link.reach)
        causes: dict[tuple[str, Reach, str], list[Finding]] = {}
        for finding in self.counting:
            for reach in reaches.get(finding.id, set()) - {Reach.MARKED}:
                if location := self.place(finding, reach):
                    causes.setdefault((finding.id, reach, location), []).append(finding)
        return causes

    def _possible_causes(
        self, finding: Finding, causes: Mapping[tuple[str, Reach, str], Sequence[Finding]]
    ) -> Iterator[Finding]:
        for link in self.follows[finding.id]:
            if link.reach is Reach.MARKED:
                continue
            for cause in causes.get((link.cause, link.reach, self.place(finding, link.reach)), ()):
                if link.when is None or link.when(cause, finding):
                    yield cause
