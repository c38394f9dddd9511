"""Checks that are not a cell of a table: functions over one run, declared with `@check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import Violation

if TYPE_CHECKING:
    from podium.logging_spec.reader.log import Generation
    from podium.rules.benchmark import Benchmark
    from podium.rules.limits import Limits
    from podium.rules.schedule import Schedule


class Context(msgspec.Struct, frozen=True, dict=True):
    """What a check may know beside the run: of its round, and what the log says it is.

    `limits` are the round's bounds, `generation` is the format of its logs, `of_round` are its
    checks for both divisions.
    """

    limits: Limits
    generation: Generation
    of_round: tuple[Check, ...]
    division: str
    benchmark: Benchmark | None

    @cached_property
    def schedule(self) -> Schedule | None:
        """The schedule of the benchmark in this round, where the policy has one."""
        return self.limits.evaluates.get(self.benchmark.name) if self.benchmark else None

    @cached_property
    def offline(self) -> bool:
        """Whether checkpoints may be evaluated after the run, on no clock."""
        return self.schedule is not None and self.schedule.offline

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The round's checks that are about this division."""
        return tuple(check for check in self.of_round if check.applies(self))


PLAIN_JSON = "plain JSON"
"""Set in `Run.memo` where every line was plain JSON, in which there is no NaN."""

Find = Callable[[Run, Context], Iterator[Violation]]


class Check(msgspec.Struct, frozen=True):
    """One named check: `find` yields what is wrong; the rest is its page."""

    id: str
    find: Find
    says: str
    why: str
    key: str | None
    cites: str
    severity: Severity
    stated_by: StatedBy
    bad: str
    good: str
    divisions: tuple[str, ...]
    formerly: tuple[str, ...] = ()

    def applies(self, context: Context) -> bool:
        """Whether the check is about this division."""
        return not self.divisions or context.division in self.divisions


def check(
    id: str,  # noqa: A002 - the rule's id
    *,
    says: str,
    cites: str,
    key: str | None = None,
    bad: str = "",
    good: str = "",
    severity: Severity = Severity.WARNING,
    divisions: tuple[str, ...] = (),
    formerly: tuple[str, ...] = (),
) -> Callable[[Find], Check]:
    """Declare a check: `says` is its one-sentence meaning; `bad` and `good` are an example.

    `formerly` are ids that it had before: they still select, waive and explain it. The docstring of
    the decorated function says why the rule is there.
    """

    def declare(find: Find) -> Check:
        why = " ".join((find.__doc__ or "").split())
        return Check(
            id,
            find,
            says,
            why,
            key,
            cites,
            severity,
            StatedBy.POLICY,
            bad,
            good,
            divisions,
            formerly,
        )

    return declare
