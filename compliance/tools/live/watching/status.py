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
    found = Status(display_path, problem=problem, findings=guard.findings, records=len(run.records))
    found.phase = _phase(run)
    found.division = context.division
    found.benchmark = context.benchmark.name if context.benchmark is not None else ""
    if run.records:
        _add_times(found, guard, _clock(run, now_ms))
        _add_evaluations(found, guard, expected)
        found.missing = guard.missing()
        late = (each for each in found.missing if each.too_late)
        found.lost += [f"{each.key} must come before {each.too_late}" for each in late]
    return found


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


def _add_times(found: Status, guard: Guard, now_ms: float) -> None:
    run = guard.run
    began = [record.time_ms for record in run.of("init_start")]
    start, stop, ready = run.first("run_start"), run.first("run_stop"), run.first("init_stop")
    found.init_limit = init_limit(guard.context) if guard.is_constant else None
    if began:
        ended = ready or start
        until = ended.time_ms if ended is not None else now_ms
        # If several are logged, the limit counts from the first init_start
        found.init_minutes = (until - min(began)) / MINUTE_MS
        if ended is None and found.init_limit and found.init_minutes > found.init_limit:
            found.lost.append(f"init_stop within {found.init_limit:g} min of init_start")
    if start is not None:
        until = stop.time_ms if stop is not None else now_ms
        found.run_minutes = (until - start.time_ms) / MINUTE_MS
    ended_as = status_of(run)
    found.status = str(ended_as[1]) if ended_as is not None else ""


def _add_evaluations(found: Status, guard: Guard, expected: Expected) -> None:
    run, context = guard.run, guard.context
    target, due = target_of(context), _due(guard)
    names = members_for(due.unit if due is not None else expected.unit)
    found.goal = goal_of(target)
    if target is not None:
        wanted = target.some if found.goal is None else (found.goal.constraint,)
        found.target = " and ".join(each.expected(run) for each in wanted)
        # The guard's readings of this run set these flags and do not reset them
        run.ordered = run.exact = False
        if context.offline:
            reached = earliest_passing(run, target)
        else:
            reached = first_passing(run, target, evaluations(run))
        if reached is not None:
            at = position(run.records[reached], names)
            found.reached = at[1] if at is not None else None
    found.points = _points(run, names)
    found.unit = {"samples_count": "samples", "epoch_num": "epochs", "step_num": "steps"}.get(
        _unit(run, names), ""
    )
    found.expected = expected
    if due is not None and found.phase != "stopped":
        found.next_due = _next(found.points, due)
    done = found.phase == "stopped" or found.reached is not None
    # Checkpoints evaluated after the run say nothing about the pace of training
    if not done and "run_start" in run.where and not context.offline:
        found.forecast = forecast(found.points, expected, found.goal, due)
    end = found.reached
    if end is None and found.forecast is not None:
        end = found.forecast.position
    if end is not None and expected.minimum is not None:
        found.margin = end - expected.minimum


def _due(guard: Guard) -> Due | None:
    schedule = guard.context.schedule if guard.context.division == "closed" else None
    batch = guard.run.number("global_batch_size")
    dues = schedule.due(batch) if schedule is not None and batch else ()
    return dues[0] if dues else None


def _unit(run: Run, names: tuple[str, ...]) -> str:
    for index in evaluations(run)[:1]:
        found = position(run.records[index], names)
        return found[0] if found is not None else ""
    return ""


def _points(run: Run, names: tuple[str, ...]) -> list[Point]:
    """Evaluations in the order of training; several metrics of one position count once."""
    start = run.first("run_start")
    found: dict[float, Point] = {}
    for index in evaluations(run):
        record = run.records[index]
        at = position(record, names)
        if at is not None:
            minutes = 0.0 if start is None else (record.time_ms - start.time_ms) / MINUTE_MS
            found.setdefault(at[1], Point(at[1], minutes, as_number(record.value)))
    return [found[position] for position in sorted(found)]


def _next(points: list[Point], due: Due) -> float | None:
    if not points:
        return due.first if due.first is not None else due.interval
    return points[-1].position + due.interval
