"""Checks that are not a cell of a table: functions over one run, declared with `@check`."""

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
        return self.benchmark is not None and self.limits.offline(self.benchmark.name)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The round's checks that are about this division."""
        return tuple(check for check in self.of_round if check.applies(self))


Find = Callable[[Run, Context], Iterator[Violation]]

Worth = Callable[[Run, Record], bool]
"""Whether a record just added to a run may break a check that held before it."""


class Watch(msgspec.Struct, frozen=True):
    """The keys whose records may break a check that held before them.

    `begin` gives, for one run, the function that tells which of these records are worth a look.
    """

    keys: tuple[str, ...]
    begin: Callable[[Context], Worth]


class Check(msgspec.Struct, frozen=True):
    """One named check: `find` yields what is wrong; the rest is its page.

    `divisions` are those that it is about, all if there are none; `by_benchmark` tells that it
    looks at the division or the benchmark all the same. `watches` say when a guard looks at it
    while a run goes on: only a check that no later record can satisfy again has any. Without them
    the end of the log decides. `follows` are the rules from whose findings those of the check may
    follow, next to those that keep a log from being read.
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
        """Whether it can be judged only once division and benchmark are known."""
        return self.by_benchmark or bool(self.divisions)

    def applies(self, context: Context) -> bool:
        """Whether the check is about this division."""
        return not self.divisions or context.division in self.divisions


class Declaration(TypedDict):
    """What a check is declared with, beside its id: see the fields of `Check`."""

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

    The docstring of the decorated function says why the rule is there.
    """

    def declare(find: Find) -> Check:
        return Check(id=id, find=find, why=" ".join((find.__doc__ or "").split()), **declared)

    return declare
