"""Faults of a log from which its other findings follow: they are marked, so that one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from podium.compliance.judging.logs.log_rules import BROKEN_COMPRESSION, NO_RECORDS, UNREADABLE_FILE
from podium.rules.checks.lifecycle import repeated_by_ranks
from podium.rules.checks.pairing import without_outcome
from podium.rules.finding import Finding
from podium.rules.fixed.former_ids import matches

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    # A file that cannot be read, or holds no record, lacks all that rules look for
    UNREADABLE_FILE.id: ("*",),
    BROKEN_COMPRESSION.id: (),
    NO_RECORDS.id: ("*",),
    repeated_by_ranks.id: ("pairing.*", "progress.*", "epoch.*", "evaluation.*", "run.*"),
    without_outcome.id: ("evaluation.off-schedule",),
}
"""What follows from a fault, as globs of rule ids; the first fault that a log has is the cause."""


def traced(findings: Iterable[Finding], repeats: Callable[[Finding], bool]) -> list[Finding]:
    """The findings of one log, those marked that follow from another of them.

    `repeats` tells findings that only say that a record stands more than once.
    """
    found = list(findings)
    ids = {each.id for each in found}
    root = next((rule for rule in FOLLOWS if rule in ids), "")
    if not root:
        return found

    def follows(finding: Finding) -> bool:
        doubled = root == repeated_by_ranks.id and repeats(finding)
        return finding.id != root and (doubled or matches(finding.id, FOLLOWS[root]))

    return [replace(each, caused_by=root) if follows(each) else each for each in found]
