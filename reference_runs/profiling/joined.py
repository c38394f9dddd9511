"""The results of all levels, joined: modules, their operators, and the operators' kernels."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from podium.reference_runs.profiling.counts import Count, OperatorCall
from podium.reference_runs.profiling.profile import Kernel, Layer, Operator, StepPart, Stretch
from podium.reference_runs.profiling.spans import union

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import nn

    from podium.reference_runs.profiling.kernels import RecordedKernels
    from podium.reference_runs.profiling.layers import Passes
    from podium.reference_runs.profiling.profile import Roof


def operators_of(
    recorded: RecordedKernels, counts: Mapping[OperatorCall, Count], roof: Roof | None
) -> tuple[Operator, ...]:
    """Every operator that took time, the longest first; `counts` are for one step."""
    made = [
        _operator(place, recorded, counts.get(place, Count()), roof) for place in recorded.kernels
    ]
    return tuple(sorted(made, key=lambda operator: -operator.ms))


def _operator(
    place: OperatorCall, recorded: RecordedKernels, count: Count, roof: Roof | None
) -> Operator:
    steps = recorded.steps
    inner = [
        Kernel(name=name, ms=time / steps / 1000, calls=calls / steps)
        for name, (time, calls) in recorded.kernels[place].items()
    ]
    ms = sum(kernel.ms for kernel in inner)
    intensity = count.flop / count.bytes if count.flop and count.bytes else None
    share = None
    if roof is not None and intensity is not None and ms > 0:
        share = count.flop / (ms / 1000) / roof.reachable(intensity)
    return Operator(
        module=place.module,
        phase=place.phase,
        name=place.operator,
        ms=ms,
        calls=recorded.calls[place] / steps,
        flop=count.flop,
        bytes=count.bytes,
        allocated=count.allocated,
        intensity=intensity,
        roofline=share,
        kernels=tuple(sorted(inner, key=lambda kernel: -kernel.ms)),
    )


def layers_of(
    model: nn.Module,
    passes: Mapping[str, Passes],
    steps: int,
    recorded: RecordedKernels | None = None,
    counts: Mapping[OperatorCall, Count] | None = None,
) -> tuple[Layer, ...]:
    """Every module that ran, in the model's order, with available figures of the deeper levels."""
    sums: dict[str, Count] = defaultdict(Count)
    for place, count in (counts or {}).items():
        if place.phase in ("forward", "backward"):
            for name in _above(place.module):
                sums[name] = sums[name].plus(count)
    times: dict[str, float] = defaultdict(float)
    for place, kernels in (recorded.kernels if recorded else {}).items():
        if place.phase in ("forward", "backward"):
            for name in _above(place.module):
                times[name] += sum(time for time, _ in kernels.values())
    return tuple(
        Layer(
            name=name,
            kind=type(module).__name__,
            forward_ms=passes[name].forward / steps * 1000,
            backward_ms=passes[name].backward / steps * 1000,
            calls=passes[name].calls / steps,
            parameters=sum(parameter.numel() for parameter in module.parameters()),
            flop=sums[name].flop,
            bytes=sums[name].bytes,
            allocated=sums[name].allocated,
            kernel_ms=times[name] / recorded.steps / 1000 if recorded else 0,
        )
        for name, module in model.named_modules()
        if name in passes
    )


def _above(name: str) -> Iterator[str]:
    """The paths of a module and all its ancestors, including the model's empty path."""
    while name:
        yield name
        name = name.rpartition(".")[0]
    yield ""


def parts_of(recorded: RecordedKernels) -> tuple[StepPart, ...]:
    """The parts of the recorded steps, on the CPU or the accelerator."""
    own: dict[str, float] = {
        name: time for name, time in recorded.phases.items() if name != "communication"
    }
    named = {
        **own,
        "host-to-device copy": recorded.to_device,
        "communication, exposed": recorded.exposed,
        "communication, overlapped": recorded.overlapped,
    }
    # A copy is also counted in its phase, and overlapped communication adds no time
    idle = recorded.wall - sum(own.values()) - recorded.exposed
    named["between operators"] = max(0.0, idle)
    return tuple(
        StepPart(name=name, ms=time / recorded.steps / 1000)
        for name, time in named.items()
        if time > 0
    )


GAP = 1 / 500
"""Fraction of a step: closer stretches are merged, since a picture shows no more detail."""


def timeline_of(recorded: RecordedKernels) -> tuple[Stretch, ...]:
    """The phases of each recorded step over time, in lanes ordered by their beginnings."""
    made: list[Stretch] = []
    for step, (begin, end) in enumerate(sorted(recorded.windows)):
        gap = (end - begin) * GAP
        inside = {
            lane: [(max(a, begin), min(b, end)) for a, b in spans if a < end and b > begin]
            for lane, spans in recorded.lanes.items()
        }
        for lane, spans in sorted(inside.items(), key=lambda item: min(item[1], default=(end, 0))):
            for a, b in union((a, b + gap) for a, b in spans):
                made.append(
                    Stretch(
                        step=step,
                        lane=lane,
                        begin_ms=(a - begin) / 1000,
                        end_ms=(b - gap - begin) / 1000,
                    )
                )
    return tuple(made)
