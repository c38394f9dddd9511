"""Checks that no table cell can express: functions over one run, declared with `@check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.consequences import Follows
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import Violation

if TYPE_CHECKING:
    from podium.logging_spec.reader.log import Generation
    from podium.rules.model.benchmark import Benchmark
    from podium.rules.model.limits import Limits
    from podium.rules.model.schedule import Schedule


class Context(msgspec.Struct, frozen=True, dict=True):
    """The facts that a check may use in addition to the run: the round, and what the log declares.

    `limits` are the bounds of the round, `generation` is the format of its logs, and `of_round` are
    its checks for both divisions.
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
        """Whether checkpoints may be evaluated after the run, off the clock."""
        return self.schedule is not None and self.schedule.offline

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the round that apply to this division."""
        return tuple(check for check in self.of_round if check.applies(self))


Find = Callable[[Run, Context], Iterator[Violation]]

Worth = Callable[[Run, Record], bool]
"""Whether a record just added to a run may break a check that passed before."""


class Watch(msgspec.Struct, frozen=True):
    """The keys whose records may break a check that passed before.

    `begin` returns, for one run, the function that selects which of these records to examine.
    """

    keys: tuple[str, ...]
    begin: Callable[[Context], Worth]


class Check(msgspec.Struct, frozen=True):
    """One named check: `find` yields the violations; the other fields are its documentation.

    `divisions` are the divisions that it applies to; empty means all. `by_benchmark` is true if the
    check reads the division or the benchmark anyway. `watches` say when a guard runs the check
    during a run: only a check that no later record can satisfy again has watches. Other checks run
    at the end of the log. `follows` are the rules whose findings may cause findings of this check,
    in addition to those that prevent a log from being read.
    """

    id: str
    find: Find
    says: str
    why: str
    cites: str
    key: str | None = None
    bad: str = ""
    good: str = ""
    severity: Severity = Severity.WARNING
    stated_by: StatedBy = StatedBy.POLICY
    divisions: tuple[str, ...] = ()
    by_benchmark: bool = False
    watches: tuple[Watch, ...] = ()
    follows: tuple[Follows, ...] = ()

    @property
    def needs_names(self) -> bool:
        """Whether the check can run only once the division and the benchmark are known."""
        return self.by_benchmark or bool(self.divisions)

    def applies(self, context: Context) -> bool:
        """Whether the check applies to this division."""
        return not self.divisions or context.division in self.divisions


class Declaration(TypedDict):
    """The arguments of `check` other than the id: see the fields of `Check`."""

    says: str
    cites: str
    key: NotRequired[str]
    bad: NotRequired[str]
    good: NotRequired[str]
    severity: NotRequired[Severity]
    stated_by: NotRequired[StatedBy]
    divisions: NotRequired[tuple[str, ...]]
    by_benchmark: NotRequired[bool]
    watches: NotRequired[tuple[Watch, ...]]
    follows: NotRequired[tuple[Follows, ...]]


def check(id: str, **declared: Unpack[Declaration]) -> Callable[[Find], Check]:  # noqa: A002 - the rule's id
    """Declare a check: `says` is its one-sentence meaning; `bad` and `good` are an example.

    The docstring of the decorated function states why the rule exists.
    """

    def declare(find: Find) -> Check:
        return Check(id=id, find=find, why=" ".join((find.__doc__ or "").split()), **declared)

    return declare
