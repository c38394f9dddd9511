"""Rounds as values in a chain: each states only what changed since the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.logging_spec.reader.log import Generation
from podium.rules.benchmark import Amend, Benchmark, Change, RoundError, Variant, by_name
from podium.rules.checks import Check, Context
from podium.rules.constraints.bounds import one_of
from podium.rules.finding import StatedBy
from podium.rules.run import Run, metadata_of
from podium.rules.schedule import Schedule
from podium.rules.table import End, Line, Row, row

DIVISIONS = ("closed", "open")


class Limits(msgspec.Struct, frozen=True):
    """Bounds of a round that checks read; minutes unless the name says otherwise.

    Sources: training rules, Run Results and its appendices per round; HPC rules.
    """

    init_closed: float | None = 30
    init_open: float | None = 240
    epochs_from: int = 1
    seeds_logged: bool = False
    staging_timed: bool | None = None
    evaluates: Mapping[str, Schedule] = msgspec.field(default_factory=dict)


_SECTIONS = {
    **dict.fromkeys(
        ("init_start", "init_stop", "run_start", "run_stop"), "training rules, Run Results"
    ),
    "cache_clear": "training rules, Data State",
    "eval_accuracy": "training rules, Quality measure",
    "train_samples": "training rules, Closed Division",
    "eval_samples": "training rules, Closed Division",
}
"""The policy's section about a key, where it is the same for every benchmark."""


class Scope(msgspec.Struct, frozen=True, dict=True):
    """Rules that apply together; a key listed by a later scope is decided by that scope alone."""

    name: str
    rows: tuple[Row, ...]
    ends: tuple[End, ...] = ()
    variants: tuple[Variant, ...] = ()
    benchmark: bool = False

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys this scope lists for the official verifier."""
        return frozenset(row.key.name for row in self.rows if row.stated_by != "policy")

    @cached_property
    def verified(self) -> tuple[tuple[str, Row], ...]:
        """(rule id, row) of all that the official verifier judges."""
        return tuple((f"{self.name}.{r.name}", r) for r in self.rows if r.stated_by != "policy")

    @cached_property
    def policy(self) -> tuple[tuple[str, Row], ...]:
        """(rule id, row as the policy has it) where it says more than the verifier."""
        return tuple(
            (f"{self.name}.{r.key.name}", r.as_policy())
            for r in self.rows
            if r.policy is not None or r.policy_some is not None or r.stated_by == "policy"
        )

    @cached_property
    def chosen(self) -> tuple[Scope, ...]:
        """The scope of each variant, in their order."""
        return tuple(scope_of(f"{self.name}.{v.name}", v.rows) for v in self.variants)

    def citing(self, text: str, targets: str = "") -> Scope:
        """The same scope; rows that cite no text cite this one, rows with a target the other."""

        def cite(line: Row) -> Row:
            other = targets if line.some and targets else _SECTIONS.get(line.name, text)
            return line if line.cites else replace(line, cites=other)

        return self._with_rows(cite)

    def by_policy(self) -> Scope:
        """The same scope where no verifier exists: all of it is the policy's."""
        return self._with_rows(lambda line: replace(line, stated_by=StatedBy.POLICY))

    def _with_rows(self, change: Callable[[Row], Row]) -> Scope:
        variants = tuple(
            replace(
                variant,
                rows=tuple(change(r) if isinstance(r, Row) else r for r in variant.rows),
            )
            for variant in self.variants
        )
        return replace(self, rows=tuple(change(r) for r in self.rows), variants=variants)


def scope_of(
    name: str,
    lines: tuple[Line, ...],
    variants: tuple[Variant, ...] = (),
    benchmark: bool = False,
) -> Scope:
    """A scope of a table's lines."""
    return Scope(
        name,
        tuple(line for line in lines if isinstance(line, Row)),
        tuple(line for line in lines if isinstance(line, End)),
        variants,
        benchmark,
    )


def named_by_key(run: Run) -> Any:
    """The benchmark that submission_benchmark names."""
    return run.value(k.SUBMISSION_BENCHMARK.name)


def status_is_success(run: Run) -> bool:
    """Whether the first run_stop tells of success in its metadata."""
    stop = run.first(k.RUN_STOP.name)
    return stop is not None and metadata_of(stop).get("status") == k.SUCCESS


def version_of(name: str) -> tuple[int, ...]:
    """A round's name as numbers, by which rounds come one after the other: 5.1 is (5, 1)."""
    return tuple(int(part) for part in name.split(".")[:2] if part.isdigit())


class Round(msgspec.Struct, frozen=True, dict=True):
    """One round, resolved.

    `common` holds for every log, `closed` and `open` for the division. `leftover` names benchmarks
    whose rules the verifier still carries though the round does not list them; `ghosts` names it
    still lists without rules; `forgotten` those its open list forgets. `verified` is False where no
    public verifier exists: then the policy's rules are errors. `named_by` tells which benchmark a
    log is of, `succeeded` whether it says that its target was reached. `aliases` are names of old
    under which results were accepted, though the verifier does not know them.
    """

    usage: str
    name: str
    common: tuple[Line, ...]
    closed: tuple[Line, ...]
    open: tuple[Line, ...]
    benchmarks: Mapping[str, Benchmark]
    limits: Limits = Limits()
    checks: tuple[Check, ...] = ()
    retired_with_rules: tuple[str, ...] = ()
    listed_without_rules: tuple[str, ...] = ()
    omitted_from_open_list: tuple[str, ...] = ()
    verified: bool = True
    previous: Round | None = None
    generation: Generation = "mllog"
    divided: bool = True
    names_in: tuple[str, ...] = ("division",)
    aliases: Mapping[str, str] = msgspec.field(default_factory=dict)
    named_by: Callable[[Run], Any] = named_by_key
    succeeded: Callable[[Run], bool] = status_is_success

    @cached_property
    def version(self) -> tuple[int, ...]:
        """The name as numbers."""
        return version_of(self.name)

    def next(
        self,
        name: str,
        *,
        retires: tuple[str, ...] = (),
        introduces: tuple[Benchmark, ...] = (),
        common: Change | None = None,
        closed: Change | None = None,
        open: Change | None = None,  # noqa: A002 - the division's name
        amends: Mapping[str, Amend] | None = None,
        limits: Limits | None = None,
        leaves: tuple[str, ...] = (),
        listed_without_rules: tuple[str, ...] = (),
        omitted_from_open_list: tuple[str, ...] = (),
        checks: tuple[Check, ...] | None = None,
        names_in: tuple[str, ...] | None = None,
        verified: bool | None = None,
    ) -> Round:
        """The round after this one; raises RoundError where the delta says nothing new."""
        where = f"{self.usage} {name}"
        benchmarks = dict(self.benchmarks)
        for retired in retires:
            if benchmarks.pop(retired, None) is None:
                raise RoundError(f"{where} retires {retired}, which is not there")
        for old, amend in (amends or {}).items():
            if old not in benchmarks:
                raise RoundError(f"{where} amends {old}, which is not there")
            amended = amend.apply(benchmarks[old], where)
            benchmarks = {
                (amended.name if key == old else key): (amended if key == old else benchmark)
                for key, benchmark in benchmarks.items()
            }
        for added in introduces:
            if added.name in benchmarks:
                raise RoundError(f"{where} introduces {added.name}, which is there")
        benchmarks |= by_name(introduces)
        retired_with_rules = tuple(n for n in self.retired_with_rules if n in benchmarks) + leaves
        if limits == self.limits:
            raise RoundError(f"{where} restates its limits")
        return replace(
            self,
            name=name,
            common=common.apply(self.common, f"{where}, common") if common else self.common,
            closed=closed.apply(self.closed, f"{where}, closed") if closed else self.closed,
            open=open.apply(self.open, f"{where}, open") if open else self.open,
            benchmarks=benchmarks,
            limits=limits or self.limits,
            retired_with_rules=retired_with_rules,
            listed_without_rules=listed_without_rules,
            omitted_from_open_list=omitted_from_open_list,
            checks=self.checks if checks is None else checks,
            names_in=names_in or self.names_in,
            verified=self.verified if verified is None else verified,
            previous=self,
        )

    def listed(self, division: str) -> tuple[str, ...]:
        """Benchmarks that the round runs in a division."""
        return tuple(name for name in self.benchmarks if name not in self.retired_with_rules)

    def __repr__(self) -> str:
        return f"<Round {self.title}>"

    @property
    def title(self) -> str:
        """`training 5.1`."""
        return f"{self.usage} {self.name}"

    @cached_property
    def _common_scope(self) -> Scope:
        named = (self._name_row("closed"),) if "common" in self.names_in else ()
        return scope_of("common", (*named, *self.common))

    @cached_property
    def _scopes(self) -> dict[tuple[str, str], tuple[Scope, ...]]:
        return {}

    def scopes(self, division: str, benchmark: str) -> tuple[Scope, ...]:
        """The scopes for a division and benchmark, outermost first; unknown names add none."""
        key = (division, benchmark)
        if key not in self._scopes:
            made = tuple(self._cited(s, benchmark) for s in self._make_scopes(division, benchmark))
            self._scopes[key] = made if self.verified else tuple(s.by_policy() for s in made)
        return self._scopes[key]

    @cached_property
    def _contexts(self) -> dict[tuple[str, str], Context]:
        return {}

    def context(self, division: str, benchmark: str) -> Context:
        """What checks may know of logs of a division and benchmark; made once."""
        key = (division, benchmark)
        if key not in self._contexts:
            self._contexts[key] = Context(self, division, self.benchmarks.get(benchmark))
        return self._contexts[key]

    def _cited(self, scope: Scope, benchmark: str) -> Scope:
        known = self.benchmarks.get(benchmark)
        if known is None or not scope.benchmark:
            of_verifier = f"official verifier, rules of {self.title}"
            return scope.citing(of_verifier if self.verified else f"rules of {self.title}")
        return scope.citing(known.cites, f"{known.cites.partition(',')[0]}, Benchmarks")

    def _make_scopes(self, division: str, benchmark: str) -> tuple[Scope, ...]:
        scopes = [self._common_scope]
        known = self.benchmarks.get(benchmark)
        if not self.divided:
            return (
                (*scopes, scope_of(benchmark, known.closed, (), True)) if known else tuple(scopes)
            )
        if division not in DIVISIONS:
            return tuple(scopes)
        lines = self.closed if division == "closed" else self.open
        named = (self._name_row(division),) if "division" in self.names_in else ()
        scopes.append(scope_of(division, (*named, *lines)))
        if known is not None:
            own = known.closed if division == "closed" else known.open
            variants = known.variants if division == "closed" else ()
            scopes.append(scope_of(f"{division}.{benchmark}", own or (), variants, benchmark=True))
        elif division == "closed" and self._variant(benchmark) is not None:
            # The verifier looks for a rule file of this name, and an optimizer's file has one.
            scopes.append(scope_of(f"closed.{benchmark}", self._variant(benchmark) or ()))
        return tuple(scopes)

    def _variant(self, name: str) -> tuple[Line, ...] | None:
        for benchmark in self.benchmarks.values():
            for variant in benchmark.variants:
                if name == f"{benchmark.name}_{variant.name}":
                    return variant.rows
        return None

    def _name_row(self, division: str) -> Row:
        names = self.listed(division)
        accepted = tuple(
            n for n in names if division == "closed" or n not in self.omitted_from_open_list
        )
        accepted += self.listed_without_rules
        if self.aliases:
            return row(
                k.SUBMISSION_BENCHMARK,
                one_of(*accepted),
                policy=one_of(*names, *self.aliases),
                why="the committee accepted results under this name of the same benchmark",
            )
        if accepted == names:
            return row(k.SUBMISSION_BENCHMARK, one_of(*names))
        return row(
            k.SUBMISSION_BENCHMARK,
            one_of(*accepted),
            policy=one_of(*names),
            why="the official verifier's list of names is stale in this round",
        )

    def has_rules(self, division: str, benchmark: str) -> bool:
        """Whether the official verifier has a rule file for this benchmark and division."""
        known = self.benchmarks.get(benchmark)
        if known is None:
            return division == "closed" and self._variant(benchmark) is not None
        return division == "closed" or not self.divided or known.open is not None

    def chain(self) -> tuple[Round, ...]:
        """The round and those before it, newest first."""
        rounds: list[Round] = []
        at: Round | None = self
        while at is not None:
            rounds.append(at)
            at = at.previous
        return tuple(rounds)
