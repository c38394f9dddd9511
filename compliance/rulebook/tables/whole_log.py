"""Whole logs made from the tables: each obeys every rule of its round."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from podium.compliance.rulebook.tables.fitting_values import (
    BATCHES,
    USUAL_BY_TYPE,
    all_of,
    computed,
    good_value,
    good_values,
    is_about_value,
    obeys,
)
from podium.compliance.rulebook.tables.log_kinds import LogKind, effective, scopes
from podium.logging_spec import keys as k
from podium.logging_spec.reader.dialects import render_v05, render_v06
from podium.logging_spec.reader.record import Record
from podium.rules.constraints import evaluation_points, members
from podium.rules.constraints.constraint import Constraint
from podium.rules.model.calendar import PUBLISHED, month_ms
from podium.rules.model.round import Round
from podium.rules.model.schedule import Schedule
from podium.rules.run import NotLogged, Run
from podium.rules.table import Row
from podium.rules.training.shared.tensors import tensor_names

START_MS = 1_750_000_000_000
STEP_MS = 1000

PHASES = frozenset(
    {
        *("cache_clear", "init_start", "init_stop", "run_start", "run_stop"),
        *("staging_start", "staging_stop", "block_start", "block_stop"),
        *("epoch_start", "epoch_stop", "eval_start", "eval_stop", "eval_accuracy", "eval_error"),
        *("averaged_validation_loss", "aggregated_eval_accuracy", "eval_result", "save_model"),
        *("weights_initialization",),
    }
)
"""Keys that are written during the run; all others come before init_stop."""

_ROLLOUTS = 16
"""Roll-outs of each prompt; the batch is this times the prompts of a step."""

_METRICS = ("eval_accuracy", "eval_error", "averaged_validation_loss")

_LARS_06 = (
    "lars_opt_learning_rate_decay_steps",
    "lars_opt_learning_rate_decay_poly_power",
    "lars_opt_weight_decay",
    "lars_epsilon",
)


def record_of(key: str, value: Any, metadata: dict[str, Any], time_ms: int) -> Record:
    """A record with the event type of its key."""
    standard_key = k.known(key)
    role = standard_key.role if standard_key else ""
    event = {"interval_start": k.INTERVAL_START, "interval_end": k.INTERVAL_END}
    return Record(key, time_ms, value, metadata, event.get(role, k.POINT_IN_TIME), "")


@cache
def good_records(kind: LogKind) -> tuple[Record, ...]:
    """The records of a log that obeys every rule of its round, a second apart."""
    return _Maker(kind).records()


def line_of(record: Record, generation: str, benchmark: str) -> bytes:
    """A record as a line in the format of a log generation, without a line end."""
    seconds = record.time_ms / 1000
    if generation == "mll":
        return render_v06(seconds, record.key, record.value, record.metadata).encode()
    if generation == "mlpv":
        text = render_v05(benchmark, seconds, "train.py", 1, record.key, record.value)
        return text.encode()
    return b":::MLLOG " + json.dumps(msgspec.to_builtins(record)).encode()


def start_of(rules: Round) -> int:
    """The start of a round's runs: two months before its publication, or `START_MS`."""
    published = PUBLISHED.get((rules.usage, rules.name))
    if published is None:
        return START_MS
    year, month = published
    if month_ms(year - 1, month) <= START_MS < month_ms(year, month + 1):
        return START_MS
    return int(month_ms(year, month)) - 60 * 86_400_000


class _Maker:
    def __init__(self, kind: LogKind) -> None:
        self.which = kind
        self.rows = _all_rows(kind)
        self.chosen = _names(kind) | dict(kind.choices)
        self.settings: list[Record] = []

    def records(self) -> tuple[Record, ...]:
        if self.which.rules.generation == "mlpv":
            records = [*self._trained_as_in_05()]
        else:
            records = [*self._described(), *self._prepared(), *self._trained()]
        start = start_of(self.which.rules)
        return tuple(
            msgspec.structs.replace(record, time_ms=start + STEP_MS * (index + record.time_ms))
            for index, record in enumerate(records)
        )

    # --- values ---

    def value(self, name: str) -> Any:
        """A value that all rows of a key accept; if they differ, one that the verifier accepts."""
        if name in self.chosen:
            return self.chosen[name]
        run = Run(self.settings)
        standard_key = k.known(name)
        default = USUAL_BY_TYPE.get(standard_key.type if standard_key else "int", 4)
        rows = self.rows.get(name, [])
        constraints = [constraint for row in rows for constraint in all_of(row)]
        if name == "global_batch_size":
            return self._batch(constraints)
        if name == "num_prompts_per_step":
            return run.value("global_batch_size") // _ROLLOUTS
        try:
            return good_values(constraints, run, default)
        except LookupError:
            last = rows[-1]
            return good_values((*last.each, *last.first, *last.some), run, default)

    def _batch(self, constraints: list[Constraint]) -> int:
        batches = [
            batch
            for batch in BATCHES
            if all(_fits(constraint, batch) for constraint in constraints)
        ]
        prompts = "num_prompts_per_step" in self.rows
        return 256 if prompts and 256 in batches else batches[0]

    def _setting(self, name: str) -> Record:
        record = record_of(name, self.value(name), self._metadata(name), 0)
        self.settings.append(record)
        return record

    def _metadata(self, name: str) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for row in self.rows.get(name, []):
            for constraint in all_of(row):
                if isinstance(constraint, members.Has) and not fields.keys() & set(
                    constraint.names
                ):
                    fields[constraint.names[0]] = "stated"
                elif isinstance(constraint, members.part) and constraint.path.startswith(
                    "metadata."
                ):
                    fields[constraint.path.removeprefix("metadata.")] = good_value(constraint.inner)
        return fields

    # --- parts of the log ---

    def _described(self) -> Iterator[Record]:
        for name in sorted({*self.rows, *_names(self.which)}):
            if name.startswith("submission_"):
                yield self._setting(name)
        yield record_of("cache_clear", True, {}, 0)
        yield record_of("init_start", None, {}, 0)

    def _prepared(self) -> Iterator[Record]:
        names = [n for n in self.rows if n not in PHASES and not n.startswith("submission_")]
        for name in ("global_batch_size", *sorted(names)):
            if name in self.rows and not self._belongs_to_another_optimizer(name):
                yield from self._with_needs(name)
        for tensor in self._tensors():
            yield record_of("weights_initialization", None, {"tensor": tensor}, 0)
        if self.which.rules.limits.seeds_logged and "seed" not in self.rows:
            yield record_of("seed", 1234, {}, 0)
        yield record_of("init_stop", None, {}, 0)

    def _tensors(self) -> tuple[str, ...]:
        """The tensors in a rule about the whole log, which only that rule lists."""
        for scope in scopes(self.which):
            for end in scope.ends:
                if end.id == "weights_initialization.tensors":
                    return tensor_names(inspect.getclosurevars(end.find).nonlocals["benchmark"])
        return ("weight",) if "weights_initialization" in self.rows else ()

    def _with_needs(self, name: str) -> Iterator[Record]:
        """A setting, after the settings that its formulas need."""
        while all(record.key != name for record in self.settings):
            try:
                yield self._setting(name)
            except NotLogged as missing:
                keys = {record.key for record in self.settings}
                if missing.key == name or missing.key not in self.rows or missing.key in keys:
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
        yield record_of("run_start", None, {}, 0)
        if "staging_start" in self.rows:
            yield record_of("staging_start", None, {}, 0)
            yield record_of("staging_stop", None, {}, 0)
        points = self._evaluations()
        schedule = self._schedule
        if schedule is not None and schedule.stops_at_checkpoint:
            yield from self._evaluated_later(points)
            return
        for number, point in enumerate(points, 1):
            yield from self._block(number, point)
        if "eval_result" in self.rows:
            yield record_of("eval_result", None, {"iteration": 1, "timestamp": 0.5}, 0)
        yield record_of("run_stop", None, {"status": "success", **points[-1]}, 0)

    def _block(self, number: int, point: dict[str, Any]) -> Iterator[Record]:
        begin, *end = self._training(number, point)
        yield from (begin, *end[:-1])
        yield from self._evaluation(point)
        yield end[-1]

    def _training(self, number: int, point: dict[str, Any]) -> Iterator[Record]:
        block = point | {"first_epoch_num": point["epoch_num"], "epoch_count": 1}
        yield record_of("block_start", None, block, 0)
        yield record_of("epoch_start", None, point, 0)
        if "save_model" in self.rows:
            yield record_of("save_model", {"iteration": number}, point, 0)
        yield record_of("epoch_stop", None, point, 0)
        yield record_of("block_stop", None, block, 0)

    def _evaluation(self, point: dict[str, Any]) -> Iterator[Record]:
        yield record_of("eval_start", None, point, 0)
        for name, value, extra in self._metrics():
            yield record_of(name, value, point | extra, 0)
        yield record_of("eval_stop", None, point, 0)

    def _evaluated_later(self, points: list[dict[str, Any]]) -> Iterator[Record]:
        """All training, then all checkpoints, then a run_stop with the time of the first one."""
        records = [
            record for n, point in enumerate(points, 1) for record in self._training(n, point)
        ]
        evaluated = [record for point in points for record in self._evaluation(point)]
        yield from (*records, *evaluated)
        # Every checkpoint of these logs reaches the target, the first at the end of its block
        offset = len(evaluated) + len(records) - len(records) // len(points)
        yield record_of("run_stop", None, {"status": "success", **points[0]}, -offset)

    @property
    def _schedule(self) -> Schedule | None:
        return self.which.rules.limits.evaluates.get(self.which.benchmark)

    def _trained_as_in_05(self) -> Iterator[Record]:
        yield record_of("run_start", None, {}, 0)
        for name in sorted(
            {*self.rows} - {"run_start", "run_stop", "train_epoch", "eval_accuracy"}
        ):
            yield self._setting(name)
        for epoch in range(2):
            yield record_of("train_epoch", epoch, {}, 0)
            yield record_of("eval_accuracy", self.value("eval_accuracy"), {}, 0)
        yield record_of("run_stop", {"success": True}, {}, 0)

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
        """The evaluations: on the benchmark's schedule and the rules' grid, if any."""
        run = Run(self.settings)
        batch = run.value("global_batch_size") or 32
        first, interval, unit = 1.0, 1.0, "epochs"
        schedule = self._schedule
        if schedule is not None:
            point = schedule.due(batch)[0]
            first, interval, unit = point.first or point.interval, point.interval, point.unit
        for row in self.rows.get("eval_accuracy", []):
            for constraint in all_of(row):
                if isinstance(constraint, evaluation_points.on_multiples_of):
                    interval, unit = computed(constraint.interval, run), "samples"
                elif isinstance(constraint, evaluation_points.first_evaluation):
                    first, unit = computed(constraint.samples, run), "samples"
                elif isinstance(constraint, evaluation_points.every_batch_from):
                    first, interval, unit = computed(constraint.start, run), batch, "samples"
        return [self._place(number, first + (number - 1) * interval, unit) for number in (1, 2)]

    def _place(self, number: int, point: float, unit: str) -> dict[str, Any]:
        """The training progress in samples, or in epochs if the schedule counts epochs."""
        if unit != "epochs":
            samples = int(point) if float(point).is_integer() else point
            return {"epoch_num": number, "samples_count": samples, "step_num": samples}
        epoch: float = number if self.which.rules.generation == "mll" else point
        epoch = int(epoch) if float(epoch).is_integer() else epoch
        return {"epoch_num": epoch, "samples_count": epoch, "step_num": epoch}


def _fits(constraint: Constraint, batch: int) -> bool:
    return not is_about_value(constraint) or obeys(constraint, batch, Run([]))


def _names(kind: LogKind) -> dict[str, Any]:
    return {"submission_division": kind.division, "submission_benchmark": kind.benchmark}


def _all_rows(kind: LogKind) -> dict[str, list[Row]]:
    """The rows of each key that such a log must obey: the deciding row and the policy's rows."""
    rows = {name: [row] for name, (_, row) in effective(kind).items()}
    policy_rows: dict[str, Row] = {}
    for scope in scopes(kind) if kind.rules.verified else ():
        policy_rows |= {row.name: row for _, row in scope.policy}
    for name, row in policy_rows.items():
        if row.stated_by == "policy":
            rows.setdefault(name, []).insert(0, row)
    return rows
