"""Suppressed findings: valid waivers mark the findings that they cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.waivers.waiver_rules import EXPIRED, UNUSED
from podium.compliance.judging.waivers.waivers import Waivers
from podium.rules.finding import Finding, Profile


def mark(findings: Iterable[Finding], waivers: Waivers, today: date) -> list[Finding]:
    """The findings; findings that a waiver covers today are marked as waived."""
    valid_waivers = [waiver for waiver in waivers.items if waiver.until >= today]
    if not valid_waivers:
        return list(findings)
    return [
        replace(finding, waived=True, waived_by=waivers.path)
        if any(w.covers(finding) for w in valid_waivers)
        else finding
        for finding in findings
    ]


def about(waivers: Waivers, findings: list[Finding], today: date) -> Iterator[Finding]:
    """Findings about waivers that have expired, or cover none of these findings."""
    for waiver, line in zip(waivers.items, waivers.lines, strict=True):
        text = f"the waiver of {waiver.rule} at {waiver.place} (by {waiver.who})"
        if waiver.until < today:
            expiry = str(waiver.until)
            yield EXPIRED.found(
                Profile.POLICY,
                waivers.path,
                line=line,
                key="until",
                waiver=text,
                until=expiry,
                today=today,
            )
        # An expired waiver covers nothing, and is reported once
        elif not any(waiver.covers(finding) for finding in findings):
            yield UNUSED.found(Profile.POLICY, waivers.path, line=line, key="rule", waiver=text)


class Suppressions(msgspec.Struct, frozen=True):
    """The caller's waivers, and whether the waivers in the tree count.

    `in_tree` is false for reviewers who want to see everything. `own` are the tree's waivers.
    """

    waivers: tuple[Waivers, ...] = ()
    in_tree: bool = True
    own: Waivers | None = None

    def mark(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings; findings that do not count are marked as waived."""
        marked = list(findings)
        for waivers in self.waivers:
            marked = mark(marked, waivers, date.today())
        return marked

    def about(self, findings: list[Finding]) -> list[Finding]:
        """Findings about the tree's waivers that have expired, or cover nothing."""
        return [] if self.own is None else [*about(self.own, findings, date.today())]


NOTHING_LEFT_OUT = Suppressions()
