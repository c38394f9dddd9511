"""Profiles, studies, plans and kernels as HTML pages that need neither scripts nor a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podium.compliance.reporting.pages.templates import (
    SCRIPT,
    STYLE,
    environment,
    joined,
    page_policy,
)
from podium.compliance.reporting.profiled.pictures import (
    compared_bars,
    extended,
    icicle,
    roofline,
    step_bars,
)
from podium.compliance.reporting.profiled.timelines import plan_in_lanes, steps_in_lanes, strips
from podium.compliance.version import VERSION

STYLES = (*STYLE, "profile.css")

MOST = 300
"""Maximum operators on the page; the files next to it have all."""


def render(profile: Mapping[str, Any]) -> str:
    """The page of a profile, from the JSON of `podium profile`."""
    return page_of(
        "profile.html.j2",
        profile=profile,
        counts=[*_counts(profile)],
        operators=profile["operators"][:MOST],
        icicle=icicle(profile["layers"]),
        roofline=roofline(profile["operators"], profile["roof"]),
        roofs=extended(profile.get("roofs")),
        bars=step_bars(profile["steps_ms"]),
        timeline=steps_in_lanes(profile["timeline"]),
        usage=strips(profile["usage"], profile["intervals"]),
    )


def _counts(profile: Mapping[str, Any]) -> Iterator[tuple[Any, str, str]]:
    """The key figures of a profile as (number, unit, class)."""
    bare = next((level for level in profile["levels"] if level["level"] == "bare"), None)
    if bare is not None:
        yield bare["step_ms"], "ms per step, not instrumented", ""
        yield bare["steps"], "steps", ""
    yield profile["ranks"], "rank" if profile["ranks"] == 1 else "ranks", ""
    if profile["operators"]:
        yield len(profile["operators"]), "operators", ""


def render_kernels(run: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]]) -> str:
    """The page of measured kernels: a run as JSON, and a flat row for each of its kernels."""
    measured = [kernel for kernel in kernels if kernel["median_ms"] is not None]
    return page_of(
        "kernels.html.j2",
        run=run,
        kernels=sorted(kernels, key=lambda kernel: -(kernel["median_ms"] or 0.0) * kernel["count"]),
        counts=[*_kernel_counts(run, kernels)],
        roof=roofline([*map(_as_operator, measured)], run["roof"]),
    )


def _kernel_counts(
    run: Mapping[str, Any], kernels: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Any, str, str]]:
    statuses = Counter(kernel["status"] for kernel in kernels)
    yield statuses["measured"], "measured", ""
    yield statuses["skipped"], "skipped", ""
    if statuses["failed"]:
        yield statuses["failed"], "failed", "error"
    if run["roof"]:
        yield run["roof"]["flop_per_s"] / 1e9, "GFLOP/s, the roof", ""
        yield run["roof"]["bytes_per_s"] / 1e9, "GB/s, the roof", ""
    if run["step"]:
        yield run["step"]["ms"], "ms per step", ""
    if run["explained"] is not None:
        yield f"{run['explained']:.1%}", "of the step in kernels", ""


def _as_operator(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """A kernel in the form of an operator of a profile."""
    intensity = kernel["flop"] / kernel["bytes"] if kernel["bytes"] else 0.0
    return {
        "name": kernel["kernel"],
        "module": "",
        "phase": kernel["kind"],
        "ms": kernel["median_ms"],
        "flop": kernel["flop"],
        "intensity": intensity,
    }


def page_of(template: str, **values: Any) -> str:
    """A page with its style and its script, which its policy allows."""
    style, script = (joined(__package__, parts) for parts in (STYLES, SCRIPT))
    page = environment(__package__, {}).get_template(template)
    policy = page_policy(style, script)
    text = page.render(policy=policy, style=style, script=script, version=VERSION, **values)
    return text.rstrip() + "\n"


TITLES = {
    "scaling": "Scaling: ranks that share one global batch",
    "precision": "Number types of the forward pass",
    "compile": "Eager against compiled",
    "batch": "Sizes of the global batch",
    "devices": "Models on devices",
}


def render_study(study: Mapping[str, Any]) -> str:
    """The page of a study, from the JSON of `podium profile --study`."""
    if study["kind"] == "devices":
        rows = [
            (f"{model['name']} on {measurement['device']}", measurement["step_ms"])
            for model in study["models"]
            for measurement in model["on"]
        ]
    else:
        rows = [(variant["name"], variant["step_ms"]) for variant in study["variants"]]
    bars = compared_bars([(name, ms) for name, ms in rows if ms is not None])
    return page_of("study.html.j2", study=study, title=TITLES[study["kind"]], bars=bars)


def render_schedule(schedule: Mapping[str, Any]) -> str:
    """The page of a plan, from the JSON of `podium profile schedule`."""
    plans = [schedule["best"], *schedule["naive"]]
    end = max(plan["seconds"] for plan in plans)
    lanes = [(plan, plan_in_lanes(schedule, plan, end, _clock)) for plan in plans]
    jobs = [*_rows(schedule)]
    return page_of("schedule.html.j2", schedule=schedule, plans=lanes, jobs=jobs, clock_of=_clock)


class _Row(NamedTuple):
    """A job with one of the device counts that it was measured with."""

    name: str
    devices: int
    seconds: float
    efficiency: float
    chosen: bool


def _rows(schedule: Mapping[str, Any]) -> Iterator[_Row]:
    device_counts = {job["job"]: len(job["devices"]) for job in schedule["best"]["jobs"]}
    for job in schedule["jobs"]:
        # JSON keys are strings
        times = sorted((int(count), seconds) for count, seconds in job["seconds"].items())
        work = times[0][0] * times[0][1]
        for count, seconds in times:
            yield _Row(
                job["name"],
                count,
                seconds,
                work / (count * seconds),
                device_counts[job["name"]] == count,
            )


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}"
