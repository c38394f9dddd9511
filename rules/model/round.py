"""Rounds as values in a chain: each states only the changes since the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Unpack

import msgspec
from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.logging_spec.reader.log import Generation
from podium.rules.checks import Check, Context
from podium.rules.citations import COMPLIANCE_CHECKER, LOGGING
from podium.rules.constraints.bounds import one_of
from podium.rules.model.benchmark import Benchmark, RoundError, by_name, unknown_benchmark
from podium.rules.model.delta import INHERITED, TABLES, Delta, next_benchmarks
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.scope import Scope, scope_of
from podium.rules.model.sections import SECTIONS
from podium.rules.run import Run, metadata_of
from podium.rules.table import Line, Row, row

DIVISIONS = ("closed", "open")


def named_by_key(run: Run) -> Any:
    """The benchmark that submission_benchmark names."""
    return run.value(k.SUBMISSION_BENCHMARK.name)


def status_is_success(run: Run) -> bool:
    """Whether the first run_stop reports success in its metadata."""
    stop = run.first(k.RUN_STOP.name)
    return stop is not None and metadata_of(stop).get("status") == k.SUCCESS


def version_of(name: str) -> tuple[int, ...]:
    """The name of a round as numbers, which sort rounds: 5.1 is (5, 1)."""
    # The official tools name rulesets with three numbers, of which the last is always 0
    return tuple(int(part) for part in name.split(".")[:2] if part.isdigit())


class _Computed(msgspec.Struct):
    """The computed values of a round: benchmarks by name, the others by division and benchmark."""

    benchmarks: dict[str, Benchmark] = {}
    scopes: dict[tuple[str, str], tuple[Scope, ...]] = {}
    contexts: dict[tuple[str, str], Context] = {}


class Round(msgspec.Struct, frozen=True, dict=True):
    """One round, resolved.

    `common` applies to every log, `closed` and `open` to their division. `retired_with_rules` names
    benchmarks whose rules the verifier still has although the round does not list them;
    `listed_without_rules` names benchmarks that it still lists without rules;
    `omitted_from_open_list` names benchmarks that its open list lacks. `package_only` are
    benchmarks whose results the official package checker accepts, although their logs have no
    rules. `verified` is False if no public verifier exists: then violations of the policy are
    errors. `published` is true if the results of the round are public. `verifier_in_force` is true
    if the current official verifier, except for details, is the one that checked the round.
    `named_by` finds the benchmark of a log, and `succeeded` whether the log says that the target
    was reached. `aliases` are old names under which results were accepted, although the verifier
    does not know them.
    """

    usage: str
    name: str
    common: tuple[Line, ...]
    closed: tuple[Line, ...]
    open: tuple[Line, ...]
    benchmarks: Mapping[str, Benchmark]
    limits: Limits = Limits()
    package: PackageRules = PackageRules()
    checks: tuple[Check, ...] = ()
    retired_with_rules: tuple[str, ...] = ()
    listed_without_rules: tuple[str, ...] = ()
    omitted_from_open_list: tuple[str, ...] = ()
    package_only: tuple[Benchmark, ...] = ()
    verified: bool = True
    published: bool = True
    verifier_in_force: bool = False
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

    def next(self, name: str, **delta: Unpack[Delta]) -> Round:
        """The round after this one; raises RoundError if the delta has no effect."""
        location = f"{self.usage} {name}"
        for member in ("limits", "package"):
            if member in delta and delta[member] == getattr(self, member):
                raise RoundError(f"{location} restates its {member}")
        benchmarks = next_benchmarks(self.benchmarks, delta, location)
        remaining = tuple(n for n in self.retired_with_rules if n in benchmarks)
        tables = {
            table: delta[table].apply(getattr(self, table), f"{location}, {table}")
            for table in TABLES
            if table in delta
        }
        inherited = {member: delta[member] for member in INHERITED if member in delta}
        return replace(
            self,
            name=name,
            benchmarks=benchmarks,
            retired_with_rules=remaining + delta.get("leaves", ()),
            listed_without_rules=delta.get("listed_without_rules", ()),
            omitted_from_open_list=delta.get("omitted_from_open_list", ()),
            package_only=(),
            published=delta.get("published", True),
            previous=self,
            **tables,
            **inherited,
        )

    @cached_property
    def _computed(self) -> _Computed:
        # A frozen struct has no field for computed values: a cached property keeps them
        return _Computed()

    def benchmark(self, name: str) -> Benchmark:
        """The facts of a benchmark from this round, else from the last round that had it.

        Results of a benchmark that is retired, or has another name, are thus still checked with its
        facts. An unknown name gets the usual facts.
        """
        known = self._computed.benchmarks
        if name not in known:
            known[name] = self._find(name) or unknown_benchmark(name)
        return known[name]

    def _find(self, name: str) -> Benchmark | None:
        rounds = [{**by_name(rules.package_only), **rules.benchmarks} for rules in self.chain()]
        for benchmarks in rounds:
            if name in benchmarks:
                return benchmarks[name]
        for benchmarks in rounds:
            matches = [
                benchmark for benchmark in benchmarks.values() if name in benchmark.also_called
            ]
            # People call both Llama 3.1 benchmarks llama3: such a name is ambiguous
            if len(matches) == 1:
                return matches[0]
        return None

    @property
    def listed(self) -> tuple[str, ...]:
        """The benchmarks of the round."""
        return tuple(name for name in self.benchmarks if name not in self.retired_with_rules)

    @property
    def allowed(self) -> tuple[str, ...]:
        """Benchmarks whose results the policy accepts."""
        package_names = (benchmark.name for benchmark in self.package_only)
        return tuple(dict.fromkeys((*self.listed, *package_names)))

    def __repr__(self) -> str:
        return f"<Round {self.title}>"

    @property
    def title(self) -> str:
        """`training 5.1`."""
        return f"{self.usage} {self.name}"

    def scopes(self, division: str, benchmark: str) -> tuple[Scope, ...]:
        """The scopes for a division and benchmark, outermost first; unknown names add none."""
        key, known = (division, benchmark), self._computed.scopes
        if key not in known:
            scopes = tuple(
                self._cited(scope, benchmark) for scope in self._make_scopes(division, benchmark)
            )
            known[key] = scopes if self.verified else tuple(scope.by_policy() for scope in scopes)
        return known[key]

    def context(self, division: str, benchmark: str) -> Context:
        """The context of checks of logs of a division and benchmark; made once."""
        key, known = (division, benchmark), self._computed.contexts
        if key not in known:
            known[key] = Context(
                self.limits, self.generation, self.checks, division, self.benchmarks.get(benchmark)
            )
        return known[key]

    def _cited(self, scope: Scope, benchmark: str) -> Scope:
        definition = self.benchmarks.get(benchmark)
        sections = SECTIONS[self.usage]
        if definition is None or not scope.benchmark:
            text = COMPLIANCE_CHECKER if self.verified else LOGGING
            return scope.citing(text, "training rules, Quality measure", sections)
        if definition.cites == COMPLIANCE_CHECKER:
            return scope.citing(COMPLIANCE_CHECKER, COMPLIANCE_CHECKER, {})
        targets = f"{definition.cites.partition(',')[0]}, Benchmarks"
        # Hyperparameters are free there: only the official verifier requires some of them
        text = COMPLIANCE_CHECKER if scope.name.startswith("open.") else definition.cites
        return scope.citing(text, targets, sections)

    def _make_scopes(self, division: str, benchmark: str) -> tuple[Scope, ...]:
        common = (self._name_row("closed"),) if "common" in self.names_in else ()
        scopes = [scope_of("common", (*common, *self.common))]
        definition = self.benchmarks.get(benchmark)
        # 0.5 and 0.6 have the same rules for both divisions
        if not self.divided:
            return (
                (*scopes, scope_of(benchmark, definition.closed, (), True))
                if definition
                else tuple(scopes)
            )
        if division not in DIVISIONS:
            return tuple(scopes)
        lines = self.closed if division == "closed" else self.open
        rows = (self._name_row(division),) if "division" in self.names_in else ()
        scopes.append(scope_of(division, (*rows, *lines)))
        if definition is not None:
            table = definition.closed if division == "closed" else definition.open
            # The open division may choose its optimizer
            variants = definition.variants if division == "closed" else ()
            scopes.append(
                scope_of(f"{division}.{benchmark}", table or (), variants, benchmark=True)
            )
        elif division == "closed" and self._variant(benchmark) is not None:
            # The verifier looks for a rule file of this name, which the file of an optimizer has
            scopes.append(scope_of(f"closed.{benchmark}", self._variant(benchmark) or ()))
        return tuple(scopes)

    def _variant(self, name: str) -> tuple[Line, ...] | None:
        for benchmark in self.benchmarks.values():
            for variant in benchmark.variants:
                if name == f"{benchmark.name}_{variant.name}":
                    return variant.rows
        return None

    def _name_row(self, division: str) -> Row:
        names = self.listed
        accepted_names = tuple(
            name
            for name in names
            if division == "closed" or name not in self.omitted_from_open_list
        )
        # Such a name passes this row, and then the verifier crashes without a rule file
        accepted_names += self.listed_without_rules
        if self.aliases:
            return row(
                k.SUBMISSION_BENCHMARK,
                one_of(*accepted_names),
                policy=one_of(*self.allowed, *self.aliases),
                why="the committee accepted results with this name for the same benchmark",
            )
        if accepted_names == names:
            return row(k.SUBMISSION_BENCHMARK, one_of(*names))
        return row(
            k.SUBMISSION_BENCHMARK,
            one_of(*accepted_names),
            policy=one_of(*names),
            why="the official verifier has an outdated list of names in this round",
        )

    def has_rules(self, division: str, benchmark: str) -> bool:
        """Whether the official verifier has a rule file for this benchmark and division."""
        definition = self.benchmarks.get(benchmark)
        if definition is None:
            return division == "closed" and self._variant(benchmark) is not None
        return division == "closed" or not self.divided or definition.open is not None

    def chain(self) -> tuple[Round, ...]:
        """The round and those before it, newest first."""
        rounds: list[Round] = []
        current: Round | None = self
        while current is not None:
            rounds.append(current)
            current = current.previous
        return tuple(rounds)
