"""What is left out of account: waivers given, and those in the tree."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import msgspec

from podium.compliance.judging.waivers.apply import about, mark
from podium.compliance.judging.waivers.waivers import Waivers
from podium.rules.finding import Finding


class Suppressions(msgspec.Struct, frozen=True):
    """Waivers given, and whether those in the tree count.

    `in_tree` is off for reviewers who want to see everything; `own` are the tree's own waivers.
    """

    waivers: tuple[Waivers, ...] = ()
    in_tree: bool = True
    own: Waivers | None = None

    @property
    def marks(self) -> bool:
        """Whether anything is left out."""
        return bool(self.waivers)

    def mark(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, those that do not count marked as waived."""
        marked = list(findings)
        for waivers in self.waivers:
            marked = mark(marked, waivers, date.today())
        return marked

    def about(self, findings: list[Finding]) -> list[Finding]:
        """Findings about the tree's own waivers: expired, or covering nothing."""
        return [] if self.own is None else [*about(self.own, findings, date.today())]


NOTHING_LEFT_OUT = Suppressions()
