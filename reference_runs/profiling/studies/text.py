"""Studies and plans as tables of at most 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.profiling.studies.study import (
        DeviceStudy,
        Plan,
        Schedule,
        Study,
        Variant,
    )

WIDTH = 80
TITLES = {
    "scaling": "ranks that share one global batch",
    "precision": "number types of the forward pass",
    "compile": "eager and compiled",
    "batch": "sizes of the global batch",
}


def study_text(study: Study) -> str:
    """One row for each setting."""
    lines = [
        (
            f"{study.benchmark} at {study.scale} scale on {study.device_name or 'no device'}:"
            f" {TITLES[study.kind]}"
        ),
        "",
        (
            f"  {'':<10}{'ms per':>9}{'samples':>10}{'':>9}{'effi-':>8}{'processors':>12}"
            f"{'communication (ms)':>20}"
        ),
        (
            f"  {'':<10}{'step':>9}{'per s':>10}{'speedup':>9}{'ciency':>8}{'busy':>12}"
            f"{'exposed':>10}{'hidden':>10}"
        ),
    ]
    for variant in study.variants:
        lines += _variant_lines(variant)
    return "\n".join(lines)


def _variant_lines(variant: Variant) -> list[str]:
    if variant.step_ms is None:
        line = f"  {variant.name:<9} {variant.state}: {variant.reason}"
        return textwrap.wrap(line, WIDTH, subsequent_indent=" " * 12)
    efficiency = "" if variant.efficiency is None else f"{variant.efficiency:.0%}"
    line = (
        f"  {variant.name:<10}{variant.step_ms:>9.3f}{variant.samples_per_s:>10.4g}"
        f"{variant.speedup:>9.2f}{efficiency:>8}{variant.processors:>12.2f}"
    )
    if variant.exposed_ms is None or variant.ranks == 1:
        return [line]
    return [f"{line}{variant.exposed_ms:>10.3f}{variant.overlapped_ms:>10.3f}"]


def devices_text(study: DeviceStudy) -> str:
    """One row for each model and device."""
    lines = [
        "models on devices: advantage is above 1 if a model gains more than average",
        "",
        f"  {'model and device':<44}{'ms/step':>10}{'speedup':>9}{'advantage':>11}",
    ]
    for model in study.models:
        lines.append(f"  {model.name}")
        for device in model.on:
            name = f"    {device.device}"[:44]
            if device.step_ms is None:
                lines.append(f"  {name:<44}{'-':>10}")
                continue
            gain = "" if device.advantage is None else f"{device.advantage:.2f}"
            lines.append(f"  {name:<44}{device.step_ms:>10.3f}{device.speedup:>9.2f}{gain:>11}")
    lines.append("")
    for model in study.models:
        line = f"; {model.suits} suits it best" if model.suits else ""
        lines.append(f"  {model.name}: fastest on {model.fastest}{line}")
    return "\n".join(lines)


def schedule_text(schedule: Schedule) -> str:
    """The best plan, job by job, and the time that it saves."""
    best = schedule.best
    lines = [f"{len(schedule.jobs)} jobs on {schedule.devices} devices", ""]
    lines += _plan_lines(best)
    lines.append("")
    for plan in (best, *schedule.naive):
        saved = "" if plan is best else f"  the best saves {1 - best.seconds / plan.seconds:.1%}"
        lines.append(f"  {plan.name:<20}{clock(plan.seconds):>12}{saved}")
    if schedule.proven:
        lines.append("no plan ends sooner: all others were ruled out")
    else:
        gap = best.seconds / schedule.bound - 1
        lines.append(f"not proven optimal: an optimal plan ends at most {gap:.1%} sooner")
    return "\n".join(lines)


def _plan_lines(plan: Plan) -> Iterator[str]:
    yield f"  {'job':<36}{'devices':>16}{'begin':>12}{'end':>12}"
    for job in plan.jobs:
        devices = ",".join(map(str, job.devices))
        devices = devices if len(devices) <= 15 else f"{len(job.devices)} devices"
        yield f"  {job.job[:35]:<36}{devices:>16}{clock(job.begin):>12}{clock(job.end):>12}"


def clock(seconds: float) -> str:
    """A time as hours, minutes and seconds, with tenths if it is short."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
