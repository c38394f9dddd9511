"""The shared options of the command line for checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from podium.compliance.judging.logs.broken_rule import NOT_JUDGED
from podium.compliance.reporting.conclusion import Decision
from podium.rules.finding import Profile, matches

if TYPE_CHECKING:
    from podium.compliance.judging.results.factor import Convention
    from podium.compliance.judging.waivers.waivers import Waivers
    from podium.compliance.judging.workers.engine import Engine

Progress = Callable[[int, int], None]
"""Called with the number of finished files and of all files."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The shared options of the command line for checks.

    `factors` is the convention for scaling scores, None for the convention of each round.
    `plugins`: installed plug-ins are used. `engine` checks files instead of `jobs` processes.
    `policy_only` and `only_selected` restrict the findings that decide the exit status.
    """

    usage: str | None = None
    round: str | None = None
    profile: Profile = Profile.POLICY
    jobs: int = 1
    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    waivers: tuple[Waivers, ...] = ()
    waivers_in_tree: bool = True
    factors: Convention | None = None
    plugins: bool = False
    engine: Engine | None = None
    policy_only: bool = False
    only_selected: bool = False

    @property
    def decision(self) -> Decision:
        """Which findings decide the exit status of a check."""
        return Decision(
            strict=self.strict,
            selected=self.wants if self.select or self.ignore else None,
            policy_only=self.policy_only,
            only_selected=self.only_selected,
        )

    def wants(self, rule: str) -> bool:
        """Whether findings of a rule are reported."""
        if rule in NOT_JUDGED:
            return True
        if self.select and not matches(rule, self.select):
            return False
        return not matches(rule, self.ignore)
