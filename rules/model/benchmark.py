"""The rules of a benchmark in one round, and their changes in later rounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

import msgspec
from msgspec.structs import replace

from podium.logging_spec.keys import Key
from podium.logging_spec.reader.record import Record
from podium.rules.derived_records import GATHERED
from podium.rules.table import Line, Row

Unit = Literal["epochs", "samples", "tokens", "steps"]

Span = tuple[str, str]
"""The first and the last of a span of rounds, by name."""


class RoundError(ValueError):
    """A round changes something that does not exist, or restates something unchanged."""


def line_name(line: Line) -> str:
    """The key of a row, or the id of a rule about the whole log."""
    return line.key.name if isinstance(line, Row) else line.id


class TableChange(msgspec.Struct, frozen=True):
    """Changes of a table since the round before: rows changed, added and dropped."""

    change: tuple[Line, ...] = ()
    add: tuple[Line, ...] = ()
    drop: tuple[Key | str, ...] = ()

    def apply(self, table: tuple[Line, ...], location: str) -> tuple[Line, ...]:
        """The changed table; raises RoundError for a change without effect."""
        lines = {line_name(line): line for line in table}
        for item in self.drop:
            name = item.name if isinstance(item, Key) else item
            if lines.pop(name, None) is None:
                raise RoundError(f"{location} drops {name}, which does not exist")
        for line in self.change:
            name = line_name(line)
            if name not in lines:
                raise RoundError(f"{location} changes {name}, which does not exist")
            if lines[name] == line:
                raise RoundError(f"{location} restates {name}")
            lines[name] = line
        for line in self.add:
            name = line_name(line)
            if name in lines:
                raise RoundError(f"{location} adds {name}, which exists already")
            lines[name] = line
        return tuple(lines.values())


class Variant(msgspec.Struct, frozen=True):
    """Rows that apply if the logged value of `chosen_by` is `value`.

    With `lower`, the verifier uses the lower-cased value, and the name of any variant. `required`:
    the verifier has no rules for a value without a variant.
    """

    name: str
    chosen_by: Key
    value: str
    rows: tuple[Line, ...]
    lower: bool = False
    required: bool = True

    def chosen_by_record(self, record: Record, lower: bool) -> bool:
        """Whether a record of an optimizer or scheduler key activates these rows."""
        if lower:
            # The verifier opens the rule file that the lower-cased value names
            return isinstance(record.value, str) and record.value.lower() == self.name
        # Here the value is case-sensitive: only LAMB in capitals activates DeepCAM's extra rules
        return self.chosen_by.name == record.key and bool(record.value == self.value)


class ConvergenceRules(msgspec.Struct, frozen=True):
    """The units in which a benchmark counts training, and the test of its convergence.

    `unit` is the unit of logs, and `points_unit` its name in official files of reference points.
    `position` is the metadata member of an evaluation that the official verifier reads.
    `in_train_samples`: a flag of the submission measures convergence in logged train_samples.
    `tested` is False if the rules require no test; `without_points` says why a round that tests
    convergence has no reference points. A mean may fall short of the minimum by `allowance` units,
    for the official verifier by `verifier_allowance`. `crashes_verifier`: the verifier has points
    but no number of runs for the benchmark, and crashes on every result. Source: training rules,
    RCP Rules (epoch reporting) and v5.0 Specific Rules.
    """

    unit: Unit = "epochs"
    points_unit: Unit = "epochs"
    position: Literal["epoch_num", "samples_count"] = "epoch_num"
    in_train_samples: bool = False
    tested: bool = True
    without_points: str = ""
    allowance: float = 0.0
    verifier_allowance: float = 0.0
    crashes_verifier: bool = False


IN_SAMPLES = ConvergenceRules(unit="samples", position="samples_count")


class Benchmark(msgspec.Struct, frozen=True, dict=True):
    """One benchmark: the rules for its logs in both divisions, and for its results.

    `runs` is the number of runs in a result (at least, for HPC throughput). `dropped` is the number
    of runs that its mean drops at each end, and so the number that may fail as the slowest.
    `first_converging`: if a result has more runs than needed, only the first that converge are
    scored. `ends_with` is the key of the record that names the winning model, if a run ends with
    that model, at the seconds after run_start in its `timestamp`; empty if run_stop ends it.
    `gathers` names the metadata member that identifies a checkpoint, if a rule is about several
    metrics of one checkpoint. `comparable` is the span of rounds whose results may be compared
    (MLCommons' table of compatible results), None without another round; `compared_as` is a later
    name of the benchmark; `also_called` are other names in use. `borrowable`: its hyperparameters
    may be borrowed. `starts_from_weights`: training starts from given weights. `not_mechanical` are
    requirements, one sentence each with its section, that no submitted file shows: a reviewer
    checks them in code. Sources: training rules, Benchmark Results, Scoring and Hyperparameter
    Borrowing; HPC rules.
    """

    name: str
    title: str
    runs: int
    closed: tuple[Line, ...]
    open: tuple[Line, ...] | None
    variants: tuple[Variant, ...] = ()
    init_minutes: float | None = None
    ends_with: str = ""
    gathers: str = ""
    target: str = ""
    cites: str = "training rules, Hyperparameters and Optimizer"
    dropped: int = 1
    first_converging: bool = False
    convergence: ConvergenceRules = ConvergenceRules()
    comparable: Span | None = None
    compared_as: str = ""
    also_called: tuple[str, ...] = ()
    borrowable: bool = True
    starts_from_weights: bool = False
    not_mechanical: tuple[str, ...] = ()

    @cached_property
    def targets(self) -> tuple[Row, ...]:
        """The rows of the closed table with a target, according to the policy."""
        rows = (line.as_policy for line in self.closed if isinstance(line, Row))
        return tuple(row for row in rows if row.some)

    @property
    def lineage(self) -> str:
        """The name under which results of several rounds are matched."""
        return self.compared_as or self.name

    @cached_property
    def quality(self) -> Row | None:
        """The row of the closed table with the quality that one evaluation must reach."""
        for line in self.closed:
            # The metrics of a checkpoint are separate records: no single one reaches that target
            if isinstance(line, Row) and line.some and line.key.name != GATHERED:
                return line.as_policy
        return None


_STATED = ("gathers", "target", "init_minutes", "convergence", "comparable")
"""Members of `Amend` that replace the members of the benchmark with the same name."""


class Amend(msgspec.Struct, frozen=True):
    """Changes of one benchmark since the round before."""

    closed: TableChange | None = None
    open: TableChange | None = None
    variants: Mapping[str, TableChange] = msgspec.field(default_factory=dict)
    rename: str | None = None
    gathers: str | None = None
    target: str | None = None
    init_minutes: float | None = None
    convergence: ConvergenceRules | None = None
    comparable: Span | None = None
    why: str = ""

    def apply(self, benchmark: Benchmark, location: str) -> Benchmark:
        """The amended benchmark; raises RoundError for a change without effect."""
        closed_table, open_table, variants = benchmark.closed, benchmark.open, benchmark.variants
        if self.closed is not None:
            closed_table = self.closed.apply(closed_table, f"{location}, closed {benchmark.name}")
        if self.open is not None:
            open_table = self.open.apply(open_table or (), f"{location}, open {benchmark.name}")
        for name, change in self.variants.items():
            variants = _vary(variants, name, change, f"{location}, {benchmark.name} {name}")
        return replace(
            benchmark,
            name=self.rename or benchmark.name,
            closed=closed_table,
            open=open_table,
            variants=variants,
            **self._stated(benchmark, location),
        )

    def _stated(self, benchmark: Benchmark, location: str) -> dict[str, object]:
        members = ((name, getattr(self, name)) for name in _STATED)
        values = {name: value for name, value in members if value is not None}
        for name, value in values.items():
            if getattr(benchmark, name) == value:
                raise RoundError(f"{location} restates {name} of {benchmark.name}")
        return values


def _vary(
    variants: tuple[Variant, ...], name: str, change: TableChange, location: str
) -> tuple[Variant, ...]:
    return tuple(
        replace(variant, rows=change.apply(variant.rows, location))
        if variant.name == name
        else variant
        for variant in variants
    )


def unknown_benchmark(name: str) -> Benchmark:
    """The rules for an unknown name: ten runs, one dropped at each end, as for most benchmarks."""
    return Benchmark(name, "", 10, (), None)


def by_name(benchmarks: Iterable[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by their name in submission_benchmark."""
    return {benchmark.name: benchmark for benchmark in benchmarks}
