"""One trainer measured level by level, each with the deeper ones off."""

from __future__ import annotations

import itertools
import json
import platform
import statistics
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import task_of
from podium.reference_runs.engine.launch import ROOT, joined_ranks
from podium.reference_runs.engine.loop import log_quality, open_data, start, train_block
from podium.reference_runs.engine.progress import block_at, position
from podium.reference_runs.profiling.counts import Counter
from podium.reference_runs.profiling.joined import layers_of, operators_of, parts_of
from podium.reference_runs.profiling.kernels import STEPS, WARM_UP, Found, recorded
from podium.reference_runs.profiling.layers import LayerClock
from podium.reference_runs.profiling.profile import Interval, LevelCost, Profile
from podium.reference_runs.profiling.roof import measured_roof, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.stepper import Stepper
    from podium.reference_runs.profiling.profile import Level


class _Kept:
    """A sink that keeps the log's lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        """Keep a line."""
        self.lines.append(line)

    def retry(self) -> None:
        """Nothing has failed."""

    sync = close = retry


@dataclass
class _Times:
    """Steps of one level: milliseconds of each, and what a turn's steps cost."""

    steps: list[float] = field(default_factory=list)
    turns: list[list[float]] = field(default_factory=list)


class _Step(NamedTuple):
    """Milliseconds of a step by the clock, and those that a processor spent on it."""

    wall: float
    busy: float


class Measuring:
    """A trainer whose model is built, and the steps that it takes under each level."""

    def __init__(self, stepper: Stepper, log: Logger, done: int, turn_steps: int) -> None:
        self.stepper, self.log, self.done = stepper, log, done
        self.turn_steps = turn_steps
        self.times: dict[Level, _Times] = {}

    def block(self, steps: int, stepped: Callable[[], None] | None = None) -> list[_Step]:
        """Train so many steps through the run's own loop; the times of each but the first."""
        ends: list[tuple[float, float]] = []

        def end() -> None:
            ends.append((time.perf_counter(), time.process_time()))
            if stepped is not None:
                stepped()

        self.stepper.stepped = end
        try:
            train_block(self.stepper, self.log, (self.done, self.done + steps), lambda _: None)
            wait(self.stepper.task.device)
        finally:
            self.stepper.stepped = _nothing
        self.done += steps
        # The first step of a block waits for its loader to begin
        return [
            _Step(*((b - a) * 1000 for a, b in zip(*pair, strict=True)))
            for pair in itertools.pairwise(ends)
        ]

    def note(self, level: Level, steps: list[_Step]) -> None:
        """Keep the times of one turn's steps."""
        known = self.times.setdefault(level, _Times())
        known.steps += [each.wall for each in steps]
        # Where the processor does the work, its own time does not count what others do beside it
        cuda = self.stepper.task.device.type == "cuda"
        known.turns.append([each.wall if cuda else each.busy for each in steps])

    def bare(self) -> None:
        """Steps with nothing on."""
        self.note("bare", self.block(self.turn_steps))

    def run(self) -> None:
        """Steps as a run logs them."""
        config, setting = self.stepper.task.config, self.stepper.task.setting
        first, last = self.done, self.done + self.turn_steps
        with self.log.block(**block_at(config, setting, first, last)):
            self.note("run", self.block(self.turn_steps))

    def evaluation(self) -> None:
        """One evaluation as a run logs it."""
        config, setting = self.stepper.task.config, self.stepper.task.setting
        at = position(config, setting, self.done)
        with self.log.evaluation(**at):
            log_quality(self.log, self.stepper.task, self.stepper.evaluate(), at)

    def layers(self, clock: LayerClock) -> None:
        """Steps with each module timed."""
        with clock.on(self.stepper.model):
            self.note("layers", self.block(self.turn_steps))

    def kernels(self, path: Path | None, counter: Counter) -> Found:
        """Steps under torch's profiler, the trace written where there is a path."""
        stepper = self.stepper
        names = frozenset(place.operator for place in counter.found)
        with recorded(path, stepper.task.device, stepper.model, counted=names) as recording:
            steps = self.block(WARM_UP + STEPS, recording.profiler.step)
        # What switches the profiler on lies in the first of the recorded steps
        self.note("kernels", steps[WARM_UP:])
        return recording.found

    def counts(self) -> Counter:
        """One step with every operator counted; not timed."""
        counter = Counter()
        with counter.counting(self.stepper.model):
            self.block(1)
        return counter

    def costs(self) -> tuple[LevelCost, ...]:
        """Each level's step, and its overhead against the bare steps of the same turns."""
        bare = self.times["bare"].turns
        halves = bare[::2], bare[1::2]
        noise = abs(_low(halves[0]) / _low(halves[1]) - 1) if halves[1] else None
        return tuple(
            LevelCost(
                level=level,
                step_ms=statistics.median(times.steps),
                steps=len(times.steps),
                overhead=_low(times.turns) / _low(bare) - 1,
                noise=noise,
            )
            for level, times in self.times.items()
        )


def _low(turns: Iterable[list[float]]) -> float:
    """The lower quartile of all steps: what disturbs a step only makes it longer."""
    steps = [*itertools.chain.from_iterable(turns)]
    return statistics.quantiles(steps, n=4)[0] if len(steps) > 1 else steps[0]


def _nothing() -> None:
    pass


@contextmanager
def measuring(request: RunRequest, ranks: Ranks, sink: Any, turn_steps: int) -> Iterator[Measuring]:
    """A trainer ready to be measured: declared, built, its data open."""
    task = task_of(request.benchmark.name)(request.config(), request.setting, ranks)
    with ExitStack() as stack:
        log = stack.enter_context(Logger(sink, rank=ranks.rank, root_dir=ROOT))
        stepper, done = start(task, log)
        run = stack.enter_context(log.run())
        open_data(task, log)
        # First calls allocate and tune
        made = Measuring(stepper, log, done, turn_steps)
        made.block(WARM_UP)
        yield made
        run.abort()


def profile_trainer(
    request: RunRequest,
    keep: Callable[[Profile], None],
    *,
    turns: int = 5,
    turn_steps: int = 10,
    trace: Path | None = None,
) -> Profile:
    """Measure a trainer at every level; `keep` gets the profile after each, on the first rank.

    Raises RunFault for what the user can fix.
    """
    with joined_ranks(request) as ranks:
        sink = _Kept()
        with measuring(request, ranks, sink, turn_steps) as made:
            found = _described(request, made)
            for each in _levels(found, made, sink, turns, trace if ranks.first else None):
                found = each
                if ranks.first:
                    keep(found)
    return found


def _levels(
    profile: Profile, made: Measuring, sink: _Kept, turns: int, trace: Path | None
) -> Iterator[Profile]:
    _in_turns(turns, made.bare, made.run)
    made.evaluation()
    profile = replace(
        profile,
        levels=made.costs(),
        steps_ms=tuple(made.times["run"].steps),
        intervals=tuple(_intervals(sink.lines)),
    )
    yield profile
    clock, steps = LayerClock(made.stepper.task.device), turns * made.turn_steps
    made.times["bare"].turns.clear()
    _in_turns(turns, made.bare, lambda: made.layers(clock))
    profile = replace(profile, levels=_and(profile, made))
    passes = clock.passes()
    yield replace(profile, layers=layers_of(made.stepper.model, passes, steps))
    made.times["bare"].turns.clear()
    counter = made.counts()
    made.bare()
    found = made.kernels(trace, counter)
    made.bare()
    device = made.stepper.task.device
    roof = measured_roof(device, profile.precision)
    yield replace(
        profile,
        levels=_and(profile, made),
        layers=layers_of(made.stepper.model, passes, steps, found, counter.found),
        operators=operators_of(found, counter.found, roof),
        parts=parts_of(found),
        roof=roof,
        peak_memory=torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
        complete=True,
    )


def _in_turns(turns: int, *works: Callable[[], None]) -> None:
    """Each after the other, the order turned round from turn to turn: neither is always first."""
    for turn in range(turns):
        for work in reversed(works) if turn % 2 else works:
            work()


def _and(profile: Profile, made: Measuring) -> tuple[LevelCost, ...]:
    """The levels that are done, with the one just measured."""
    return (*profile.levels, made.costs()[-1])


def _described(request: RunRequest, made: Measuring) -> Profile:
    setting, task = request.setting, made.stepper.task
    cuda = task.device.type == "cuda"
    return Profile(
        benchmark=request.benchmark.name,
        scale=setting.scale,
        device=str(task.device),
        device_name=torch.cuda.get_device_name(task.device) if cuda else platform.machine(),
        precision=setting.precision,
        compiled=setting.compile,
        ranks=task.ranks.world,
        threads=torch.get_num_threads(),
        torch=str(torch.__version__),
    )


def _intervals(lines: list[bytes]) -> Iterator[Interval]:
    """The blocks and evaluations of a log's lines."""
    begun: dict[str, float] = {}
    first: float | None = None
    for line in lines:
        record = json.loads(line.partition(b":::MLLOG")[2] or b"{}")
        kind, _, end = str(record.get("key", "")).partition("_")
        if kind not in ("block", "eval") or end not in ("start", "stop"):
            continue
        moment = record["time_ms"]
        first = moment if first is None else first
        if end == "start":
            begun[kind] = moment
        elif kind in begun:
            name = "block" if kind == "block" else "evaluation"
            yield Interval(kind=name, begin_ms=begun[kind] - first, end_ms=moment - first)  # type: ignore[arg-type]
