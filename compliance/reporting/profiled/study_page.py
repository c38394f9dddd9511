"""Studies and plans as HTML pages that ask no server for anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from podium.compliance.reporting.profiled.page import page_of
from podium.compliance.reporting.profiled.pictures import compared_bars
from podium.compliance.reporting.profiled.timelines import plan_in_lanes

TITLES = {
    "scaling": "Scaling: ranks that share one global batch",
    "precision": "Number types of the forward pass",
    "compile": "Eager against compiled",
    "devices": "Models on devices",
}


def render_study(study: Mapping[str, Any]) -> str:
    """The page of a study, which is one as `podium profile --study` writes it in JSON."""
    if study["kind"] == "devices":
        rows = [
            (f"{model['name']} on {each['device']}", each["step_ms"])
            for model in study["models"]
            for each in model["on"]
        ]
    else:
        rows = [(each["name"], each["step_ms"]) for each in study["variants"]]
    bars = compared_bars([(name, ms) for name, ms in rows if ms is not None])
    return page_of("study.html.j2", study=study, title=TITLES[study["kind"]], bars=bars)


def render_schedule(schedule: Mapping[str, Any]) -> str:
    """The page of a plan, which is one as `podium profile schedule` writes it in JSON."""
    plans = [schedule["best"], *schedule["naive"]]
    until = max(plan["seconds"] for plan in plans)
    made = [(plan, plan_in_lanes(schedule, plan, until, _clock)) for plan in plans]
    jobs = [*_rows(schedule)]
    return page_of("schedule.html.j2", schedule=schedule, plans=made, jobs=jobs, clock_of=_clock)


class _Row(NamedTuple):
    """A job on one of the numbers of devices that it was measured with."""

    name: str
    devices: int
    seconds: float
    efficiency: float
    chosen: bool


def _rows(schedule: Mapping[str, Any]) -> Iterator[_Row]:
    chosen = {each["job"]: len(each["devices"]) for each in schedule["best"]["jobs"]}
    for job in schedule["jobs"]:
        # JSON has texts for keys
        times = sorted((int(count), seconds) for count, seconds in job["seconds"].items())
        work = times[0][0] * times[0][1]
        for count, seconds in times:
            yield _Row(
                job["name"],
                count,
                seconds,
                work / (count * seconds),
                chosen[job["name"]] == count,
            )


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
