"""The status of a run: phase, times and limits, evaluations, quality, missing keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from podium.compliance.tools.live.guard import Guard
from podium.compliance.tools.live.partial.certain import Missing
from podium.compliance.tools.live.partial.declared import Expected
from podium.compliance.tools.live.watching.forecast import Forecast, Goal, Point, forecast, goal_of
from podium.rules.checks.lifecycle import init_limit
from podium.rules.checks.points import (
    earliest_passing,
    evaluations,
    first_passing,
    members_for,
    position,
    status_of,
    target_of,
)
from podium.rules.finding import Finding
from podium.rules.model.schedule import Due
from podium.rules.run import MINUTE_MS, Run, as_number

Phase = Literal["waiting", "preparing", "init", "ready", "running", "stopped"]

CLOCKS_AGREE_MS = 86_400_000
"""A log whose last line is older than this is a replay or a copy: its clock is used."""


@dataclass(slots=True)
class Status:
    """One log at one time. Times are minutes; None means unknown."""

    path: str
    phase: Phase = "waiting"
    benchmark: str = ""
    division: str = ""
    problem: str = ""
    init_minutes: float | None = None
    init_limit: float | None = None
    run_minutes: float | None = None
    status: str = ""
    points: list[Point] = field(default_factory=list)
    unit: str = ""
    next_due: float | None = None
    goal: Goal | None = None
    target: str = ""
    reached: float | None = None
    forecast: Forecast | None = None
    expected: Expected = field(default_factory=Expected)
    margin: float | None = None
    missing: list[Missing] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The status as JSON data."""
        data: dict[str, Any] = msgspec.to_builtins(replace(self, goal=None))
        data["goal"] = None if self.goal is None else self.goal.bound
        return data


def status_of_run(
    display_path: str, guard: Guard, expected: Expected, now_ms: float, problem: str = ""
) -> Status:
    """The status of a run, from its guard."""
    run, context = guard.run, guard.context
    status = Status(
        display_path, problem=problem, findings=guard.findings, records=len(run.records)
    )
    status.phase = _phase(run)
    status.division = context.division
    status.benchmark = context.benchmark.name if context.benchmark is not None else ""
    if run.records:
        _add_times(status, guard, _clock(run, now_ms))
        _add_evaluations(status, guard, expected)
        status.missing = guard.missing()
        late = (entry for entry in status.missing if entry.too_late)
        status.lost += [f"{entry.key} must come before {entry.too_late}" for entry in late]
    return status


def _phase(run: Run) -> Phase:
    # The last mark first: a log that has stopped has the earlier marks, too
    phases: tuple[tuple[str, Phase], ...] = (
        ("run_stop", "stopped"),
        ("run_start", "running"),
        ("init_stop", "ready"),
        ("init_start", "init"),
    )
    for key, phase in phases:
        if key in run.where:
            return phase
    return "preparing" if run.records else "waiting"


def _clock(run: Run, now_ms: float) -> float:
    """The present time of the log's clock."""
    last = run.records[-1].time_ms
    return now_ms if 0 <= now_ms - last < CLOCKS_AGREE_MS else last


def _add_times(status: Status, guard: Guard, now_ms: float) -> None:
    run = guard.run
    began = [record.time_ms for record in run.of("init_start")]
    start, stop, ready = run.first("run_start"), run.first("run_stop"), run.first("init_stop")
    status.init_limit = init_limit(guard.context) if guard.is_constant else None
    if began:
        ended = ready or start
        until = ended.time_ms if ended is not None else now_ms
        # If several are logged, the limit counts from the first init_start
        status.init_minutes = (until - min(began)) / MINUTE_MS
        if ended is None and status.init_limit and status.init_minutes > status.init_limit:
            status.lost.append(f"init_stop within {status.init_limit:g} min of init_start")
    if start is not None:
        until = stop.time_ms if stop is not None else now_ms
        status.run_minutes = (until - start.time_ms) / MINUTE_MS
    ended_as = status_of(run)
    status.status = str(ended_as[1]) if ended_as is not None else ""


def _add_evaluations(status: Status, guard: Guard, expected: Expected) -> None:
    run, context = guard.run, guard.context
    target, due = target_of(context), _due(guard)
    names = members_for(due.unit if due is not None else expected.unit)
    status.goal = goal_of(target)
    if target is not None:
        constraints = target.some if status.goal is None else (status.goal.constraint,)
        status.target = " and ".join(constraint.expected(run) for constraint in constraints)
        # The guard's readings of this run set these flags and do not reset them
        run.ordered = run.exact = False
        if context.offline:
            reached = earliest_passing(run, target)
        else:
            reached = first_passing(run, target, evaluations(run))
        if reached is not None:
            progress = position(run.records[reached], names)
            status.reached = progress[1] if progress is not None else None
    status.points = _points(run, names)
    status.unit = {"samples_count": "samples", "epoch_num": "epochs", "step_num": "steps"}.get(
        _unit(run, names), ""
    )
    status.expected = expected
    if due is not None and status.phase != "stopped":
        status.next_due = _next(status.points, due)
    is_finished = status.phase == "stopped" or status.reached is not None
    # Checkpoints evaluated after the run say nothing about the pace of training
    if not is_finished and "run_start" in run.where and not context.offline:
        status.forecast = forecast(status.points, expected, status.goal, due)
    end = status.reached
    if end is None and status.forecast is not None:
        end = status.forecast.position
    if end is not None and expected.minimum is not None:
        status.margin = end - expected.minimum


def _due(guard: Guard) -> Due | None:
    schedule = guard.context.schedule if guard.context.division == "closed" else None
    batch = guard.run.number("global_batch_size")
    dues = schedule.due(batch) if schedule is not None and batch else ()
    return dues[0] if dues else None


def _unit(run: Run, names: tuple[str, ...]) -> str:
    for index in evaluations(run)[:1]:
        progress = position(run.records[index], names)
        return progress[0] if progress is not None else ""
    return ""


def _points(run: Run, names: tuple[str, ...]) -> list[Point]:
    """Evaluations in the order of training; several metrics of one position count once."""
    start = run.first("run_start")
    points: dict[float, Point] = {}
    for index in evaluations(run):
        record = run.records[index]
        progress = position(record, names)
        if progress is not None:
            minutes = 0.0 if start is None else (record.time_ms - start.time_ms) / MINUTE_MS
            points.setdefault(progress[1], Point(progress[1], minutes, as_number(record.value)))
    return [points[position] for position in sorted(points)]


def _next(points: list[Point], due: Due) -> float | None:
    if not points:
        return due.first if due.first is not None else due.interval
    return points[-1].position + due.interval
