"""Findings that share a submission, a rule and a cause, as groups for readers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from podium.rules.finding import DROPPED_RUN, RANK, Finding

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome

OneMessage = Callable[[str], bool]
"""Whether all findings of a rule use one message template."""


class Group(msgspec.Struct, frozen=True):
    """Findings of one rule with one cause, in one submission: never empty, in report order.

    `submission` is the path of its entry, "" outside all submissions. `following` are the findings
    that these have caused; they are in no other group.
    """

    submission: str
    findings: tuple[Finding, ...]
    following: tuple[Finding, ...] = ()

    @property
    def first(self) -> Finding:
        """The finding that represents the group."""
        return self.findings[0]

    @property
    def excuse(self) -> str:
        """The excuse of all findings: a dropped run, a review, or "" if they count."""
        return excuse_of(self.first)

    @property
    def alike(self) -> bool:
        """Whether all messages are the same."""
        return all(finding.message == self.first.message for finding in self.findings)

    @property
    def official(self) -> int:
        """The number of findings that the official verifier rejects."""
        return sum(finding.official for finding in self.findings)

    @property
    def files(self) -> int:
        """The number of files or folders."""
        return len({finding.path for finding in self.findings})

    def values(self) -> list[tuple[str, int]]:
        """The logged values and their counts; empty if all agree or there are none."""
        if self.alike:
            return []
        counts = Counter(_shown(finding.actual) for finding in self.findings)
        return counts.most_common() if len(counts) > 1 and "" not in counts else []


def excuse_of(finding: Finding) -> str:
    """The excuse of a finding: a dropped run, a review, or "" if it counts."""
    if not finding.waived:
        return ""
    return DROPPED_RUN if finding.waived_by == DROPPED_RUN else "review"


def groups_of(report: Outcome, one_message: OneMessage = lambda _: False) -> list[Group]:
    """All findings of a report in groups: by submission, then by weight, with excused groups last.

    `one_message` is called if messages of one rule and key differ. If it returns false, only
    messages that differ in values are in one group.
    """
    if not report.findings:
        return []
    home = homes(report)
    independent, following = _split(report.findings, home)
    by_cause: dict[tuple[Any, ...], list[Finding]] = {}
    for finding in independent:
        cause = (
            home(finding.path),
            excuse_of(finding),
            finding.severity,
            finding.id,
            finding.key,
            finding.stated_by,
        )
        by_cause.setdefault(cause, []).append(finding)
    groups = [
        Group(cause[0], tuple(part))
        for cause, findings in by_cause.items()
        for part in _by_message(findings, one_message)
    ]
    return sorted(_with_following(groups, following), key=_weight)


def own_findings(report: Outcome) -> list[Finding]:
    """The findings of a report that do not follow from another finding in it."""
    return _split(report.findings, homes(report))[0]


def merged(report: Outcome, one_message: OneMessage = lambda _: False) -> list[Group]:
    """The groups of a report, without a separation by submission."""
    return groups_of(replace(report, submissions=()), one_message)


def by_submission(groups: Iterable[Group]) -> Iterator[tuple[str, list[Group]]]:
    """Groups in their order, collected by submission."""
    for submission, submission_groups in groupby(groups, key=lambda group: group.submission):
        yield submission, list(submission_groups)


def _weight(group: Group) -> tuple[bool, str, bool, int, bool, int, str, str]:
    first = group.first
    heavy = (group.excuse == DROPPED_RUN, RANK[first.severity], not group.official)
    return (
        bool(group.excuse),
        group.submission,
        *heavy,
        -len(group.findings),
        first.id,
        first.key or "",
    )


# --- submissions of findings -------------------------------------------------------------


def homes(report: Outcome) -> Callable[[str], str]:
    """The function that maps a path to the folder of its submission; "" for none."""
    folders = {entry.path.rstrip("/") for entry in report.submissions}
    # Paths are relative to a single submission
    root = next((path for path in folders if path in ("", ".")), "")
    cache: dict[str, str] = {}

    def home(path: str) -> str:
        if path in folders:
            return path
        folder = path.rpartition("/")[0]
        if folder not in cache:
            parent = folder
            # From the inside out
            while parent and parent not in folders:
                parent = parent.rpartition("/")[0]
            cache[folder] = parent or root
        return cache[folder]

    return home


# --- consequences -----------------------------------------------------------------------

_Cause = tuple[str, str]
"""A submission, and a rule with independent findings in it."""


def _split(
    findings: Sequence[Finding], home: Callable[[str], str]
) -> tuple[list[Finding], list[tuple[Finding, _Cause]]]:
    """The independent findings, and the consequences, each with its root cause."""
    consequences = [finding for finding in findings if _is_caused(finding)]
    if not consequences:
        return list(findings), []
    roots = {
        (home(finding.path), finding.id)
        for finding in findings
        if not finding.waived and not finding.caused_by
    }
    steps = {(home(finding.path), finding.id): finding.caused_by for finding in consequences}
    independent: list[Finding] = []
    following: list[tuple[Finding, _Cause]] = []
    for finding in findings:
        cause = (home(finding.path), finding.caused_by)
        causes: set[_Cause] = set()
        # A consequence may have consequences
        while cause not in roots and cause in steps and cause not in causes:
            causes.add(cause)
            cause = (cause[0], steps[cause])
        if _is_caused(finding) and cause in roots:
            following.append((finding, cause))
        else:
            independent.append(finding)  # also if its cause is not in the report
    return independent, following


def _is_caused(finding: Finding) -> bool:
    # A violation of a dropped run may follow from a finding about the run
    counts = not finding.waived or finding.waived_by == DROPPED_RUN
    return counts and bool(finding.caused_by)


def _with_following(
    groups: list[Group], following: list[tuple[Finding, _Cause]]
) -> Iterable[Group]:
    if not following:
        return groups
    in_file: dict[tuple[str, str], int] = {}
    anywhere: dict[_Cause, int] = {}
    for index, group in enumerate(groups):
        roots = [
            finding for finding in group.findings if not finding.waived and not finding.caused_by
        ]
        for finding in roots:
            anywhere.setdefault((group.submission, finding.id), index)
            in_file.setdefault((finding.path, finding.id), index)
    followers: dict[int, list[Finding]] = {}
    for finding, cause in following:
        # A fault in a log may follow from a fault elsewhere in its submission
        index = in_file.get((finding.path, cause[1]), anywhere[cause])
        followers.setdefault(index, []).append(finding)
    return [
        replace(group, following=tuple(followers.get(index, ())))
        for index, group in enumerate(groups)
    ]


# --- common causes ---------------------------------------------------------------------------


def _by_message(findings: list[Finding], one_message: OneMessage) -> Iterable[list[Finding]]:
    messages = {finding.message for finding in findings}
    if len(messages) == 1 or one_message(findings[0].id):
        return [findings]
    parts: dict[str, list[Finding]] = {}
    forms = {message: without_values(message) for message in messages}
    for finding in findings:
        parts.setdefault(forms[finding.message], []).append(finding)
    return parts.values()


_REMARK = re.compile(r" ?\([^()]*\)")
_VALUES = re.compile(
    r"""(?:(?:'[^']*'|"[^"]*"|\[[^]]*\]|\b(?:true|false|null)\b|[^\s"'\[]*[\d/][^\s"'\[]*)[, ]*)+"""
)


def without_values(message: str) -> str:
    """A message without the parts that vary: numbers, quoted strings, paths, remarks."""
    return _VALUES.sub("… ", _REMARK.sub("", message)).rstrip()


def _shown(value: Any) -> str:
    if value is None:
        return ""
    from podium.rules.constraints.formula import show_logged

    return show_logged(value)
