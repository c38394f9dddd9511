"""A profile as tables of at most 80 columns."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from podium.reference_runs.profiling.traces.names import kernel_names
from podium.reference_runs.profiling.traces.text import (
    collective_lines,
    launch_lines,
    path_lines,
    prefixed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from podium.reference_runs.profiling.profile import (
        DeviceLink,
        Layer,
        Operator,
        Profile,
        Roofs,
        StepPart,
        Usage,
    )

DEPTH = 3
"""Layers have separate rows down to paths of three names, such as blocks.0.attention."""
MOST = 15
"""Number of operators in the table."""

FIGURES = {
    "cpu": ("CPUs of the machine busy (%)", 100.0),
    "processors": ("CPUs kept busy by the run", 1.0),
    "memory": ("memory in use (GB)", 1e-9),
    "resident": ("memory of the run (GB)", 1e-9),
    "disk_read": ("disks, read (MB/s)", 1e-6),
    "disk_written": ("disks, written (MB/s)", 1e-6),
    "network_received": ("networks, received (MB/s)", 1e-6),
    "network_sent": ("networks, sent (MB/s)", 1e-6),
    "gpu_busy": ("GPU busy (%)", 100.0),
    "gpu_memory": ("GPU memory in use (GB)", 1e-9),
    "gpu_sm_clock": ("GPU clock (MHz)", 1.0),
    "gpu_memory_clock": ("GPU memory clock (MHz)", 1.0),
    "gpu_power": ("GPU power (W)", 1.0),
    "gpu_pcie_received": ("PCIe, to the GPU (MB/s)", 1e-6),
    "gpu_pcie_sent": ("PCIe, from the GPU (MB/s)", 1e-6),
    "gpu_nvlink_received": ("NVLink, received (MB/s)", 1e-6),
    "gpu_nvlink_sent": ("NVLink, sent (MB/s)", 1e-6),
}
"""The printed figures of a utilization span, with unit and factor."""


def profile_text(profile: Profile) -> str:
    """All tables of a profile."""
    head = (
        f"{profile.benchmark} at {profile.scale} scale, {profile.precision}"
        f"{', compiled' if profile.compiled else ''}, {profile.ranks} rank"
        f"{'s' if profile.ranks > 1 else ''} on {profile.device} ({profile.device_name})"
    )
    lines = [
        head,
        *topology_lines(profile.topology),
        "",
        "level        ms per step  overhead     noise   steps",
    ]
    for level in profile.levels:
        over = "" if level.level == "bare" else f"{level.overhead:+.1%}"
        noise = "" if level.noise is None or not over else f"{level.noise:.1%}"
        lines.append(
            f"  {level.level:<12}{level.step_ms:>10.3f}{over:>10}{noise:>10}{level.steps:>8}"
        )
    if profile.usage:
        lines += ["", *usage_lines(profile.usage)]
    lines += [f"note: {note}" for note in profile.notes]
    if profile.layers:
        lines += ["", *layer_lines(profile.layers)]
    if profile.operators:
        lines += ["", *part_lines(profile.parts), "", *trace_lines(profile)]
        lines += operator_lines(profile.operators)
    if profile.roof:
        roof = profile.roof
        lines += ["", "roof, measured here: "]
        lines[-1] += f"{roof.flop_per_s / 1e9:.4g} GFLOP/s, {roof.bytes_per_s / 1e9:.4g} GB/s"
    if profile.roofs:
        lines += ["", *roofs_lines(profile.roofs)]
    return "\n".join(lines)


def topology_lines(topology: Sequence[DeviceLink]) -> Iterator[str]:
    """The number of pairs of accelerators with each kind of link."""
    pairs = Counter(pair.link for pair in topology)
    if pairs:
        kinds = ", ".join(f"{link} x{count}" for link, count in pairs.most_common())
        yield f"links between pairs of accelerators: {kinds}"


def usage_lines(usage: Sequence[Usage]) -> Iterator[str]:
    """Utilization in the intervals of the log: mean and peak."""
    rows = [(_figures(interval), interval.end_ms - interval.begin_ms) for interval in usage]
    yield f"{'utilization of the machine during the log':<44}{'mean':>10}{'most':>10}"
    for figure, (name, factor) in FIGURES.items():
        figures = ((row.get(figure), length) for row, length in rows)
        known = [(value * factor, length) for value, length in figures if value is not None]
        if known and any(value for value, _ in known):
            mean = sum(value * ms for value, ms in known) / (sum(ms for _, ms in known) or 1)
            yield f"  {name:<42}{mean:>10.4g}{max(value for value, _ in known):>10.4g}"


def _figures(usage: Usage) -> dict[str, float | None]:
    gpu = {} if usage.gpu is None else vars(usage.gpu)
    return {**vars(usage), **{f"gpu_{name}": value for name, value in gpu.items()}}


def layer_lines(layers: Sequence[Layer]) -> Iterator[str]:
    """Modules with the time of their passes, including submodules."""
    yield "layers, ms per step (a layer includes its sublayers)"
    yield f"  {'':<42}{'forward':>9}{'backward':>10}{'MFLOP':>9}{'MB':>8}"
    for layer in layers:
        if layer.name.count(".") < DEPTH:
            name = layer.name or f"({layer.kind})"
            yield (
                f"  {_cut(name, 41):<42}{layer.forward_ms:>9.3f}{layer.backward_ms:>10.3f}"
                f"{layer.flop / 1e6:>9.4g}{layer.bytes / 1e6:>8.4g}"
            )


def part_lines(parts: Iterable[StepPart]) -> Iterator[str]:
    """The parts of a recorded step."""
    yield "parts of a recorded step (ms)"
    for part in parts:
        yield f"  {part.name:<30}{part.ms:>10.3f}"


def trace_lines(profile: Profile) -> Iterator[str]:
    """Idle time by cause; the critical path and launches on a device; collectives of ranks."""
    if profile.idle:
        yield "idle time of a recorded step by cause (ms)"
        for cause in profile.idle:
            yield f"  {cause.name:<46}{cause.ms:>10.3f}"
        yield ""
    # Without a device the path is the sequence of the parts
    if profile.launches:
        yield from path_lines(
            "critical path (ms): work outside it causes no delay", profile.critical, profile.path
        )
        yield ""
        yield from launch_lines(profile.launches)
        yield ""
    if profile.collectives:
        yield from collective_lines(profile.collectives)
        yield ""


def operator_lines(operators: Sequence[Operator]) -> Iterator[str]:
    """The longest operators, with their fraction of the roof, and their kernels."""
    yield f"operators, the longest {min(MOST, len(operators))} of {len(operators)} (per step)"
    yield f"  {'operator and module':<42}{'ms':>8}{'calls':>7}{'FLOP/B':>9}{'roof':>7}"
    for operator in operators[:MOST]:
        intensity = "" if operator.intensity is None else f"{operator.intensity:.3g}"
        roof = "" if operator.roofline is None else f"{operator.roofline:.0%}"
        name = _cut(f"{operator.name} {_where(operator)}", 41)
        yield f"  {name:<42}{operator.ms:>8.3f}{operator.calls:>7.0f}{intensity:>9}{roof:>7}"
        kernels = kernel_names((kernel.name for kernel in operator.kernels[:2]), 39)
        for kernel in operator.kernels[:2]:
            if kernel.name != operator.name and kernel.ms > operator.ms / 10:
                yield f"    {kernels[kernel.name]:<40}{kernel.ms:>8.3f}{kernel.calls:>7.0f}"


def _where(operator: Operator) -> str:
    sign = "'" if operator.phase == "backward" else ""
    if operator.phase in ("forward", "backward"):
        return f"{operator.module or 'model'}{sign}"
    return f"({operator.phase})"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def roofs_lines(roofs: Roofs) -> list[str]:
    """The limits as a table, and the one that binds."""
    lines = [
        "roofs, measured at the sizes of a step",
        f"  {'':<14}{'rate':>18}{'per step':>18}{'FLOP/B':>10}{'ms':>10}{'of step':>8}",
    ]
    for limit in roofs.limits:
        unit = "FLOP" if limit.name == "computing" else "B"
        intensity = "" if limit.intensity is None else f"{limit.intensity:.3g}"
        lines.append(
            f"  {limit.name:<14}{prefixed(limit.per_s, f'{unit}/s'):>18}"
            f"{prefixed(limit.per_step, unit):>18}{intensity:>10}{limit.ms:>10.4g}"
            f"{limit.ms / roofs.step_ms:>8.1%}"
        )
    share = roofs.least_ms / roofs.step_ms
    least = f"{roofs.binds} binds: at least {roofs.least_ms:.4g} ms"
    if share > 1:
        lines.append(f"{least} at this rate, but a step takes {roofs.step_ms:.4g} ms;")
        lines.append("other work on the machine slowed the measurement of the rate")
    else:
        lines.append(f"{least} of the {roofs.step_ms:.4g} ms of a step ({share:.0%})")
    return lines
