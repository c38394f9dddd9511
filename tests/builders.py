"""Valid logs made in memory from the rule tables, to be broken in one way each.

    good = build("training", "5.1", "closed", "llama31_8b")
    good.set("opt_adamw_beta_2", 0.9).bytes()

Every method gives a new log; a method that finds nothing to change raises, so no test is empty.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from podium.compliance.logs.judge import LogVerdict, judge_log
from podium.logging_spec import keys as k
from podium.logging_spec.reader.dialects import render_v05, render_v06
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules import rounds
from podium.rules.catalogue import find_round
from podium.rules.constraints import benchmark_constraints as special
from podium.rules.constraints import bounds as c
from podium.rules.constraints import evaluation_points, formula, members, order
from podium.rules.finding import Profile
from podium.rules.model.benchmark import Benchmark, Variant
from podium.rules.model.calendar import PUBLISHED, month_ms
from podium.rules.model.round import Round, Scope, scope_of
from podium.rules.run import NotLogged, Run
from podium.rules.table import Row
from podium.rules.training.shared.tensors import tensor_names

if TYPE_CHECKING:
    import random
    from pathlib import Path

Data = bytes  # its own name, as the log has a method `bytes`

START_MS = 1_750_000_000_000
STEP_MS = 1000

SAME: Any = object()
"""Stands for the value as it is."""


class Which(NamedTuple):
    """One kind of log: what it is of, and the logged choices that bring in more rows."""

    usage: str
    round: str
    division: str
    benchmark: str
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def rules(self) -> Round:
        """The round's rules."""
        return find_round(self.usage, self.round)

    def __str__(self) -> str:
        chosen = "".join(f" {value}" for _, value in self.choices)
        return f"{self.usage} {self.round} {self.division} {self.benchmark}{chosen}"


# --- the log ---


@dataclass(frozen=True)
class Line:
    """A record and the form it is written in, or other text of the file."""

    record: Record | None
    generation: str
    benchmark: str = ""
    text: bytes = b""

    @cached_property
    def bytes(self) -> bytes:
        """The line without its end."""
        record = self.record
        if record is None:
            return self.text
        seconds = record.time_ms / 1000
        if self.generation == "mll":
            return render_v06(seconds, record.key, record.value, record.metadata).encode()
        if self.generation == "mlpv":
            text = render_v05(self.benchmark, seconds, "train.py", 1, record.key, record.value)
            return text.encode()
        return b":::MLLOG " + json.dumps(msgspec.to_builtins(record)).encode()


@dataclass(frozen=True)
class LogBuilder:
    """The lines of a log."""

    which: Which
    lines: tuple[Line, ...] = field(repr=False)

    # --- reading ---

    def bytes(self) -> bytes:
        """The file."""
        return b"".join(line.bytes + b"\n" for line in self.lines)

    def write(self, path: Path) -> Path:
        """Write the file, with the folders it needs."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path

    def judge(self, profile: Profile = Profile.VERIFIER) -> LogVerdict:
        """What podium says of it, by its own round's rules."""
        return judge_log(parse_log(self.bytes()), self.which.rules, profile, "result_0.txt")

    def where(self, key: str) -> list[int]:
        """The places of a key's records."""
        found = [
            place for place, line in enumerate(self.lines) if line.record and line.record.key == key
        ]
        if not found:
            raise LookupError(f"{self.which} does not log {key}")
        return found

    def line_of(self, key: str) -> int:
        """The file line of a key's first record."""
        return self.where(key)[0] + 1

    def names(self) -> list[str]:
        """Every key once, in the order of the log."""
        return list(dict.fromkeys(line.record.key for line in self.lines if line.record))

    def first(self, key: str) -> Record:
        """A key's first record."""
        record = self.lines[self.where(key)[0]].record
        assert record is not None
        return record

    # --- breaking ---

    def change(self, key: str, how: Callable[[Record], Record], only: int | None = None) -> Self:
        """Change every record of a key, or only the one at this place among them."""
        places = self.where(key)
        lines = list(self.lines)
        for place in places if only is None else [places[only]]:
            record = lines[place].record
            assert record is not None
            lines[place] = replace(lines[place], record=how(record))
        return replace(self, lines=tuple(lines))

    def set(self, key: str, value: Any, only: int | None = None) -> Self:
        """Give every record of a key this value."""
        return self.change(key, lambda r: msgspec.structs.replace(r, value=value), only)

    def meta(self, key: str, *without: str, only: int | None = None, **members: Any) -> Self:
        """Add members to the metadata of a key's records, and drop others."""

        def change(record: Record) -> Record:
            kept = {name: v for name, v in record.metadata.items() if name not in without}
            return msgspec.structs.replace(record, metadata=kept | members)

        return self.change(key, change, only)

    def shift(self, key: str, minutes: float, only: int | None = None) -> Self:
        """Move the times of a key's records."""
        delta = minutes * 60_000
        return self.change(
            key, lambda r: msgspec.structs.replace(r, time_ms=int(r.time_ms + delta)), only
        )

    def shift_all(self, minutes: float) -> Self:
        """Move the times of all records."""
        log = self
        for key in self.names():
            log = log.shift(key, minutes)
        return log

    def lasting(self, minutes: float) -> Self:
        """Let the run stop so many minutes after its start."""
        start, stop = self.first("run_start").time_ms, self.first("run_stop").time_ms
        return self.shift("run_stop", minutes - (stop - start) / 60_000)

    def drop(self, *keys: str, only: int | None = None) -> Self:
        """Leave out every record of some keys."""
        gone = {place for key in keys for place in self.where(key)}
        if only is not None:
            gone = {self.where(keys[0])[only]}
        kept = tuple(line for place, line in enumerate(self.lines) if place not in gone)
        return replace(self, lines=kept)

    def repeat(self, key: str, value: Any = SAME) -> Self:
        """Log a key's first record again after itself, perhaps with another value."""
        place = self.where(key)[0]
        record = self.first(key)
        if value is not SAME:
            record = msgspec.structs.replace(record, value=value)
        return self._insert(place + 1, replace(self.lines[place], record=record))

    def move(self, key: str, *, before: str = "", after: str = "") -> Self:
        """Put a key's records before the first, or after the last, record of another."""
        places = self.where(key)
        moved = [self.lines[place] for place in places]
        rest = self.drop(key)
        at = rest.where(before)[0] if before else rest.where(after)[-1] + 1
        return replace(self, lines=(*rest.lines[:at], *moved, *rest.lines[at:]))

    def add(
        self, key: str, value: Any, metadata: dict[str, Any] | None = None, *, before: str
    ) -> Self:
        """Log one more record before another key's first."""
        place = self.where(before)[0]
        there = self.lines[place].record
        assert there is not None
        record = _record(key, value, metadata or {}, int(there.time_ms))
        return self._insert(place, replace(self.lines[place], record=record))

    def noise(self, place: int, text: Data) -> Self:
        """Put a line that is no record at a place."""
        return self._insert(place, Line(None, "", text=text))

    def shuffled(self, rng: random.Random) -> Self:
        """The hyperparameter lines in another order, in the places they have together."""
        places = [
            place
            for place, line in enumerate(self.lines)
            if line.record is not None and _is_hyperparameter(line.record.key)
        ]
        mixed = rng.sample(places, len(places))
        lines = list(self.lines)
        for place, source in zip(places, mixed, strict=True):
            lines[place] = self.lines[source]
        return replace(self, lines=tuple(lines))

    def _insert(self, place: int, line: Line) -> Self:
        return replace(self, lines=(*self.lines[:place], line, *self.lines[place:]))


Self = LogBuilder


def _is_hyperparameter(name: str) -> bool:
    key = k.known(name)
    return key is not None and key.role in ("hyperparameter", "disclosure")


def _record(key: str, value: Any, metadata: dict[str, Any], time_ms: int) -> Record:
    known = k.known(key)
    role = known.role if known else ""
    event = {"interval_start": k.INTERVAL_START, "interval_end": k.INTERVAL_END}
    return Record(key, time_ms, value, metadata, event.get(role, k.POINT_IN_TIME), "")


# --- which logs there are ---


@cache
def cases() -> tuple[Which, ...]:
    """Every round, division and benchmark that a log may name, with each choice of rows."""
    return tuple(which for usage, name in rounds for which in _cases(find_round(usage, name)))


def _cases(rules: Round) -> Iterator[Which]:
    for name, benchmark in rules.benchmarks.items():
        for division in ("closed", "open") if rules.divided else ("closed",):
            which = Which(rules.usage, rules.name, division, name)
            named = effective(which).get("submission_benchmark")
            if not rules.has_rules(division, name) or (named and not _accepts(named[1], name)):
                continue
            for choices in _choices(benchmark, rules, division):
                yield which._replace(choices=choices)


def _accepts(row: Row, value: Any) -> bool:
    return all(_obeys(constraint, value, Run([])) for constraint in row.each)


def _choices(
    benchmark: Benchmark, rules: Round, division: str
) -> Iterator[tuple[tuple[str, str], ...]]:
    if not rules.divided and benchmark.name == "resnet":
        yield from ((("opt_name", name),) for name in ("sgd", "lars"))
    elif not benchmark.variants or division == "open":
        yield ()
    else:
        by_key: dict[str, list[Variant]] = {}
        for variant in benchmark.variants:
            by_key.setdefault(variant.chosen_by.name, []).append(variant)
        most = max(map(len, by_key.values()))
        for turn in range(most):
            yield tuple((key, each[turn % len(each)].value) for key, each in by_key.items())


def scopes(which: Which) -> list[Scope]:
    """The scopes that judge such a log, outermost first, with those its choices bring in."""
    found: list[Scope] = []
    chosen = dict(which.choices)
    for scope in which.rules.scopes(which.division, which.benchmark):
        found.append(scope)
        found += [
            scope_of(f"{scope.name}.{variant.name}", variant.rows)
            for variant in scope.variants
            if chosen.get(variant.chosen_by.name) == variant.value
        ]
    return found


def effective(which: Which) -> dict[str, tuple[str, Row]]:
    """The row that decides each key, by the last scope that lists it, with its rule's id."""
    found: dict[str, tuple[str, Row]] = {}
    for scope in scopes(which):
        for *_, rule, row in scope.verified if which.rules.verified else scope.policy:
            found[row.name] = (rule, row)
    return found


# --- values ---

_STRUCTURAL = (
    order.after,
    order.before,
    order.init_within,
    c.computes,
    evaluation_points.first_evaluation,
    evaluation_points.on_multiples_of,
    evaluation_points.every_batch_from,
)
"""Constraints on the place of a record, not on what it holds."""

_BY_TYPE: dict[str, Any] = {
    "int": 4,
    "float": 0.25,
    "bool": True,
    "str": "stated",
    "list": [1, 2],
    "object": {},
}

_BATCHES = (1152, 8192, 16_384, 256)
"""Batch sizes to choose from: the reference's, where formulas start from one."""


def good_value(constraint: c.Constraint, run: Run | None = None) -> Any:
    """A value that obeys a constraint; `run` holds the keys its formulas look at."""
    return good_values((constraint,), run or Run([]))


def good_values(constraints: Iterable[c.Constraint], run: Run, default: Any = 4) -> Any:
    """A value that obeys several constraints on values at once; LookupError where none is found."""
    wanted = [constraint for constraint in constraints if _is_about_value(constraint)]
    parts = [w for w in wanted if isinstance(w, members.part) and w.path.startswith("value.")]
    names = [w.name for w in wanted if isinstance(w, members.value_has)]
    if parts or names:
        names += [w.path.removeprefix("value.") for w in parts]
        return {name: _member(name, parts, run) for name in dict.fromkeys(names)}
    for value in (*_candidates(wanted, run), default, *_BY_TYPE.values(), 1, 0, 0.5):
        if all(_obeys(constraint, value, run) for constraint in wanted):
            return value
    raise LookupError(f"no value obeys {[constraint.text() for constraint in wanted]}")


def _member(name: str, parts: list[members.part], run: Run) -> Any:
    inner = [member.inner for member in parts if member.path == f"value.{name}"]
    return good_values(inner, run, 0.5)


def _is_about_value(constraint: c.Constraint) -> bool:
    if isinstance(constraint, members.part):
        return not constraint.path.startswith("metadata.")
    own = isinstance(constraint, members.value_has)
    return own or (type(constraint).holds is c.Constraint.holds and not _is_order(constraint))


def _is_order(constraint: c.Constraint) -> bool:
    return isinstance(constraint, _STRUCTURAL) or type(constraint).__name__ == "in_sequence"


def _obeys(constraint: c.Constraint, value: Any, run: Run) -> bool:
    run.position = len(run.records)
    try:
        return constraint.holds(Record("", 0, value, {}), run)
    except Exception:  # a value of the wrong type, of any kind
        return False


def _candidates(wanted: list[c.Constraint], run: Run) -> Iterator[Any]:
    """Values that the constraints themselves name; then, for numbers, those beside and between."""
    run.position = len(run.records)
    named = [value for constraint in wanted for value in _named_by(constraint, run)]
    yield from named
    numbers = sorted({v for v in named if isinstance(v, int | float) and v - v == 0})
    yield from ((low + high) / 2 for low, high in pairwise(numbers))
    for number in numbers:
        yield from (number + 1, number - 1, number + 0.01, number - 0.01)
        yield from (number * 1.01, number * 0.99, number / 2)


def _named_by(constraint: c.Constraint, run: Run) -> Iterator[Any]:
    if isinstance(constraint, c.OneOf):
        yield from constraint.options
    elif isinstance(constraint, c.AnyOf):
        for option in constraint.options:
            yield from _named_by(option, run)
    elif isinstance(constraint, members.part):
        length = good_value(constraint.inner, run)
        yield [0.5] * max(1, int(length))
    elif isinstance(constraint, c.multiple_of):
        yield from (constraint.step, constraint.step * 2)
    elif isinstance(constraint, c.of_type):
        yield {"int": 1, "bool": True}[constraint.type]
    elif isinstance(constraint, c.truthy):
        yield True
    elif isinstance(constraint, special.second_boundary):
        yield from ([40, 50], [44, 55])
    elif isinstance(constraint, c.product_equals):
        exact = _computed(constraint.bound, run) / constraint.factor
        yield from (exact, *_beside(exact))
    elif isinstance(constraint, special.within_factors):
        unit = _computed(constraint.unit, run)
        yield unit * (constraint.low + constraint.high) / 2
    elif isinstance(constraint, special.stretched):
        scale = constraint.batch / run.logged("global_batch_size") if constraint.batch else 1
        yield [boundary * scale for boundary in constraint.boundaries]
    elif isinstance(constraint, special.batch_is_prompts_times):
        yield run.logged("global_batch_size") // run.logged("num_prompts_per_step")
    else:
        for name in constraint.__struct_fields__:
            yield from _near_field(constraint, getattr(constraint, name), run)


def _near_field(constraint: c.Constraint, value: Any, run: Run) -> Iterator[Any]:
    """What a field of a constraint suggests: itself, its items, and lists of them."""
    if isinstance(value, formula.Formula):
        yield _computed(value, run)
    elif isinstance(value, c.Constraint):
        yield from _named_by(value, run)
    elif isinstance(value, tuple):
        inner = [one for item in value for one in _near_field(constraint, item, run)]
        yield from (inner, *inner, *([one] for one in inner))
    elif isinstance(value, int | float | str):
        yield from (value, [value] * 3)


def _beside(exact: float) -> tuple[float, float]:
    return math.nextafter(exact, 0), math.nextafter(exact, math.inf)


def _computed(formula: formula.Formula, run: Run) -> Any:
    run.position = len(run.records)
    return formula.compute(run)


def all_of(row: Row) -> tuple[c.Constraint, ...]:
    """Everything that a row asks of a record, by either text."""
    return (*row.each, *row.first, *row.some, *(row.policy or ()), *(row.policy_some or ()))


# --- the log of a table ---

PHASES = frozenset(
    {
        *("cache_clear", "init_start", "init_stop", "run_start", "run_stop"),
        *("staging_start", "staging_stop", "block_start", "block_stop"),
        *("epoch_start", "epoch_stop", "eval_start", "eval_stop", "eval_accuracy", "eval_error"),
        *("averaged_validation_loss", "aggregated_eval_accuracy", "eval_result", "save_model"),
        *("weights_initialization",),
    }
)
"""Keys that are written where they happen; all others stand before init_stop."""

_ROLLOUTS = 16
"""Roll-outs of each prompt, which make a batch together with the prompts of a step."""

_METRICS = ("eval_accuracy", "eval_error", "averaged_validation_loss")

_LARS_06 = (
    "lars_opt_learning_rate_decay_steps",
    "lars_opt_learning_rate_decay_poly_power",
    "lars_opt_weight_decay",
    "lars_epsilon",
)


def build(
    usage: str,
    round_: str,
    division: str,
    benchmark: str,
    choices: tuple[tuple[str, str], ...] = (),
) -> LogBuilder:
    """A log that obeys every rule of its round."""
    return build_log(Which(usage, round_, division, benchmark, choices))


@cache
def build_log(which: Which) -> LogBuilder:
    """A log that obeys every rule of its round."""
    return _Maker(which).log()


def start_of(rules: Round) -> int:
    """When runs of a round begin: two months before it was published, or at `START_MS`."""
    published = PUBLISHED.get((rules.usage, rules.name))
    if published is None:
        return START_MS
    year, month = published
    if month_ms(year - 1, month) <= START_MS < month_ms(year, month + 1):
        return START_MS
    return int(month_ms(year, month)) - 60 * 86_400_000


class _Maker:
    def __init__(self, which: Which) -> None:
        self.which = which
        self.rows = _all_rows(which)
        self.chosen = _names(which) | dict(which.choices)
        self.settings: list[Record] = []

    def log(self) -> LogBuilder:
        if self.which.rules.generation == "mlpv":
            records = [*self._trained_as_in_05()]
        else:
            records = [*self._described(), *self._prepared(), *self._trained()]
        start = start_of(self.which.rules)
        timed = [
            msgspec.structs.replace(record, time_ms=start + STEP_MS * index)
            for index, record in enumerate(records)
        ]
        generation, benchmark = self.which.rules.generation, self.which.benchmark
        lines = tuple(Line(record, generation, benchmark) for record in timed)
        return LogBuilder(self.which, lines)

    # --- values ---

    def value(self, name: str) -> Any:
        """A value that all rows of a key accept; only the official verifier's where they differ."""
        if name in self.chosen:
            return self.chosen[name]
        run = Run(self.settings)
        known = k.known(name)
        default = _BY_TYPE.get(known.type if known else "int", 4)
        rows = self.rows.get(name, [])
        wanted = [constraint for row in rows for constraint in all_of(row)]
        if name == "global_batch_size":
            return self._batch(wanted)
        if name == "num_prompts_per_step":
            return run.value("global_batch_size") // _ROLLOUTS
        try:
            return good_values(wanted, run, default)
        except LookupError:
            last = rows[-1]
            return good_values((*last.each, *last.first, *last.some), run, default)

    def _batch(self, wanted: list[c.Constraint]) -> int:
        usable = [batch for batch in _BATCHES if all(_fits(each, batch) for each in wanted)]
        prompts = "num_prompts_per_step" in self.rows
        return 256 if prompts and 256 in usable else usable[0]

    def _setting(self, name: str) -> Record:
        record = _record(name, self.value(name), self._metadata(name), 0)
        self.settings.append(record)
        return record

    def _metadata(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for row in self.rows.get(name, []):
            for constraint in all_of(row):
                if isinstance(constraint, members.Has) and not found.keys() & set(constraint.names):
                    found[constraint.names[0]] = "stated"
                elif isinstance(constraint, members.part) and constraint.path.startswith(
                    "metadata."
                ):
                    found[constraint.path.removeprefix("metadata.")] = good_value(constraint.inner)
        return found

    # --- parts of the log ---

    def _described(self) -> Iterator[Record]:
        for name in sorted({*self.rows, *_names(self.which)}):
            if name.startswith("submission_"):
                yield self._setting(name)
        yield _record("cache_clear", True, {}, 0)
        yield _record("init_start", None, {}, 0)

    def _prepared(self) -> Iterator[Record]:
        plain = [n for n in self.rows if n not in PHASES and not n.startswith("submission_")]
        for name in ("global_batch_size", *sorted(plain)):
            if name in self.rows and not self._belongs_to_another_optimizer(name):
                yield from self._with_needs(name)
        for tensor in self._tensors():
            yield _record("weights_initialization", None, {"tensor": tensor}, 0)
        if self.which.rules.limits.seeds_logged and "seed" not in self.rows:
            yield _record("seed", 1234, {}, 0)
        yield _record("init_stop", None, {}, 0)

    def _tensors(self) -> tuple[str, ...]:
        """The tensors that a rule about the whole log lists; it alone knows whose they are."""
        for scope in scopes(self.which):
            for end in scope.ends:
                if end.id == "weights_initialization.tensors":
                    return tensor_names(inspect.getclosurevars(end.find).nonlocals["benchmark"])
        return ("weight",) if "weights_initialization" in self.rows else ()

    def _with_needs(self, name: str) -> Iterator[Record]:
        """A setting, after those that its formulas turn out to need."""
        while all(record.key != name for record in self.settings):
            try:
                yield self._setting(name)
            except NotLogged as missing:
                logged = {record.key for record in self.settings}
                if missing.key == name or missing.key not in self.rows or missing.key in logged:
                    raise
                yield from self._with_needs(missing.key)

    def _belongs_to_another_optimizer(self, name: str) -> bool:
        if self.which.round != "0.6" or self.which.benchmark != "resnet":
            return False
        optimizer = self.chosen.get("opt_name")
        if name in _LARS_06:
            return optimizer != "lars"
        return name == "opt_learning_rate_decay_boundary_epochs" and optimizer != "sgd"

    def _trained(self) -> Iterator[Record]:
        yield _record("run_start", None, {}, 0)
        if "staging_start" in self.rows:
            yield _record("staging_start", None, {}, 0)
            yield _record("staging_stop", None, {}, 0)
        places = self._evaluations()
        for number, at in enumerate(places, 1):
            yield from self._block(number, at)
        if "eval_result" in self.rows:
            yield _record("eval_result", None, {"iteration": 1, "timestamp": 0.5}, 0)
        yield _record("run_stop", None, {"status": "success", **places[-1]}, 0)

    def _block(self, number: int, at: dict[str, Any]) -> Iterator[Record]:
        block = at | {"first_epoch_num": at["epoch_num"], "epoch_count": 1}
        yield _record("block_start", None, block, 0)
        yield _record("epoch_start", None, at, 0)
        if "save_model" in self.rows:
            yield _record("save_model", {"iteration": number}, at, 0)
        yield _record("epoch_stop", None, at, 0)
        yield _record("eval_start", None, at, 0)
        for name, value, extra in self._metrics():
            yield _record(name, value, at | extra, 0)
        yield _record("eval_stop", None, at, 0)
        yield _record("block_stop", None, block, 0)

    def _trained_as_in_05(self) -> Iterator[Record]:
        yield _record("run_start", None, {}, 0)
        for name in sorted(
            {*self.rows} - {"run_start", "run_stop", "train_epoch", "eval_accuracy"}
        ):
            yield self._setting(name)
        for epoch in range(2):
            yield _record("train_epoch", epoch, {}, 0)
            yield _record("eval_accuracy", self.value("eval_accuracy"), {}, 0)
        yield _record("run_stop", {"success": True}, {}, 0)

    def _metrics(self) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        if "aggregated_eval_accuracy" in self.rows:
            value = self.value("aggregated_eval_accuracy")
            yield "eval_accuracy", value["FID"], {"metric": "FID"}
            yield "eval_accuracy", value["CLIP"], {"metric": "CLIP"}
            return
        for name in _METRICS:
            if name in self.rows:
                yield name, self.value(name), {}

    def _evaluations(self) -> list[dict[str, Any]]:
        """Where the evaluations are: on the benchmark's schedule and the rules' grid, if any."""
        run = Run(self.settings)
        batch = run.value("global_batch_size") or 32
        first, interval, unit = 1.0, 1.0, "epochs"
        schedule = self.which.rules.limits.evaluates.get(self.which.benchmark)
        if schedule is not None:
            due = schedule.due(batch)[0]
            first, interval, unit = due.first or due.interval, due.interval, due.unit
        for row in self.rows.get("eval_accuracy", []):
            for constraint in all_of(row):
                if isinstance(constraint, evaluation_points.on_multiples_of):
                    interval, unit = _computed(constraint.interval, run), "samples"
                elif isinstance(constraint, evaluation_points.first_evaluation):
                    first, unit = _computed(constraint.samples, run), "samples"
                elif isinstance(constraint, evaluation_points.every_batch_from):
                    first, interval, unit = _computed(constraint.start, run), batch, "samples"
        return [self._place(number, first + (number - 1) * interval, unit) for number in (1, 2)]

    def _place(self, number: int, point: float, unit: str) -> dict[str, Any]:
        """How far training is: in samples, or in epochs where the schedule counts these."""
        if unit != "epochs":
            at = int(point) if float(point).is_integer() else point
            return {"epoch_num": number, "samples_count": at, "step_num": at}
        epoch: float = number if self.which.rules.generation == "mll" else point
        epoch = int(epoch) if float(epoch).is_integer() else epoch
        return {"epoch_num": epoch, "samples_count": epoch, "step_num": epoch}


def _fits(constraint: c.Constraint, batch: int) -> bool:
    return not _is_about_value(constraint) or _obeys(constraint, batch, Run([]))


def _names(which: Which) -> dict[str, Any]:
    return {"submission_division": which.division, "submission_benchmark": which.benchmark}


def _all_rows(which: Which) -> dict[str, list[Row]]:
    """The rows about each key that such a log must obey: the deciding one, and the policy's own."""
    deciding = {name: [row] for name, (_, row) in effective(which).items()}
    own: dict[str, Row] = {}
    for scope in scopes(which) if which.rules.verified else ():
        own |= {row.name: row for _, row in scope.policy}
    for name, row in own.items():
        if row.stated_by == "policy":
            deciding.setdefault(name, []).insert(0, row)
    return deciding
