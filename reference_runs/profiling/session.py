"""Measurement of a trainer level by level, each without the deeper ones."""

from __future__ import annotations

import platform
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.engine.launch import joined_ranks
from podium.reference_runs.profiling.joined import (
    layers_of,
    operators_of,
    parts_of,
    timeline_of,
)
from podium.reference_runs.profiling.layers import LayerClock
from podium.reference_runs.profiling.measuring import measuring
from podium.reference_runs.profiling.profile import Profile
from podium.reference_runs.profiling.roof import measured_roof
from podium.reference_runs.profiling.roofs import measured_roofs
from podium.reference_runs.profiling.traces.analysis import analyzed
from podium.reference_runs.profiling.traces.collectives import calls_of, collectives_of
from podium.reference_runs.profiling.utilisation.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.profiling.measuring import Measuring
    from podium.reference_runs.profiling.profile import LevelCost
    from podium.reference_runs.profiling.traces.events import Trace
    from podium.reference_runs.profiling.wanted import ProfileRequest

TRACES = "traces"
"""Folder of each rank's trace within a profile: tools that compare ranks expect a folder."""


def profile_trainer(
    request: RunRequest, keep: Callable[[Profile], None], wanted: ProfileRequest
) -> Profile | None:
    """Measure a trainer at every level; `keep` receives the profile after each, on rank 0.

    Returns the complete profile on rank 0, None on others. Raises RunFault for user errors.
    """
    with joined_ranks(request) as ranks, ExitStack() as stack:
        watched = Watched(wanted) if ranks.first else None
        sinks = [] if watched is None else watched.sinks
        made = stack.enter_context(measuring(request, ranks, sinks, wanted.turn_steps))
        if watched is not None:
            sampling = watched.sampling(made.stepper.task.device, made.log)
            made.sampled = stack.enter_context(sampling)
        profile = replace(_described(request, made), topology=wanted.topology)
        for extended in _levels(profile, made, watched, wanted):
            profile = extended
            if ranks.first:
                keep(profile)
        return profile if ranks.first else None


def _levels(
    profile: Profile, made: Measuring, watched: Watched | None, wanted: ProfileRequest
) -> Iterator[Profile]:
    """The profile before the first level and after each."""
    yield profile
    profile = _run_level(profile, made, watched, wanted)
    yield profile
    if wanted.deepest == "run":
        return
    clock, steps = LayerClock(made.stepper.task.device), wanted.turns * made.turn_steps
    made.times["bare"].turns.clear()
    _in_turns(wanted.turns, made.bare, lambda: made.layers(clock))
    passes = clock.passes()
    profile = replace(
        profile,
        levels=_and(profile, made),
        layers=layers_of(made.stepper.model, passes, steps),
        complete=wanted.deepest == "layers",
    )
    yield profile
    if wanted.deepest == "layers":
        return
    made.times["bare"].turns.clear()
    counter = made.counts()
    made.bare()
    recording = made.kernels(_trace(wanted.folder, made.stepper.task.ranks), counter)
    kernels = recording.found
    made.bare()
    device = made.stepper.task.device
    peak_memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    roof = measured_roof(device, profile.precision)
    roofs = measured_roofs(made, counter, _step_ms(profile)) if wanted.roofs else None
    yield replace(
        _with_trace(profile, recording.trace, made.stepper.task.ranks),
        levels=_and(profile, made),
        layers=layers_of(made.stepper.model, passes, steps, kernels, counter.found),
        operators=operators_of(kernels, counter.found, roof),
        parts=parts_of(kernels),
        timeline=timeline_of(kernels),
        roof=roof,
        roofs=roofs,
        peak_memory=peak_memory,
        complete=True,
    )


def _with_trace(profile: Profile, trace: Trace | None, ranks: Ranks) -> Profile:
    """The profile with the analysis of this rank's trace, and the collectives of all ranks."""
    calls = ranks.gather((ranks.number, calls_of(trace) if trace else {}))
    if trace is None:
        return profile
    analysis = analyzed(trace)
    return replace(
        profile,
        idle=analysis.idle,
        critical=analysis.critical,
        path=analysis.path,
        launches=analysis.launches,
        collectives=collectives_of(calls),
    )


def _step_ms(profile: Profile) -> float:
    return next(level.step_ms for level in profile.levels if level.level == "run")


def _run_level(
    profile: Profile, made: Measuring, watched: Watched | None, wanted: ProfileRequest
) -> Profile:
    _in_turns(wanted.turns, made.bare, made.run)
    made.evaluation()
    processors = made.stepper.task.ranks.gather(made.processors())
    profile = replace(
        profile,
        levels=made.costs(),
        steps_ms=tuple(step.wall for step in made.times["run"].steps),
        processors=tuple(processors),
        complete=wanted.deepest == "run",
    )
    if watched is None:
        return profile
    intervals, usage = watched.intervals()
    return replace(profile, intervals=intervals, usage=usage, notes=watched.notes)


def _in_turns(turns: int, *works: Callable[[], None]) -> None:
    """Run each in turn, reversing the order every turn: none is always first."""
    for turn in range(turns):
        for work in reversed(works) if turn % 2 else works:
            work()


def _and(profile: Profile, made: Measuring) -> tuple[LevelCost, ...]:
    """The finished levels, including the one just measured."""
    return (*profile.levels, made.costs()[-1])


def _trace(folder: Path | None, ranks: Ranks) -> Path | None:
    if folder is None:
        return None
    (folder / TRACES).mkdir(parents=True, exist_ok=True)
    return folder / TRACES / f"rank_{ranks.number}.json"


def _described(request: RunRequest, made: Measuring) -> Profile:
    setting, task = request.setting, made.stepper.task
    cuda = task.device.type == "cuda"
    return Profile(
        benchmark=request.benchmark.name,
        scale=setting.scale,
        device=str(task.device),
        device_name=torch.cuda.get_device_name(task.device) if cuda else _processor(),
        precision=setting.precision,
        compiled=setting.compile,
        ranks=task.ranks.processes,
        threads=torch.get_num_threads(),
        torch=str(torch.__version__),
        global_batch_size=task.config.global_batch_size,
        last_step=task.config.last_step,
    )


def _processor() -> str:
    """The CPU's name if the system reports it, otherwise its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()
