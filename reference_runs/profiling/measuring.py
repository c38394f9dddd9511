"""A built trainer, and its steps under each level of measuring."""

from __future__ import annotations

import itertools
import statistics
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import task_of
from podium.reference_runs.engine.launch import ROOT
from podium.reference_runs.engine.loop import log_quality, open_data, start, train_block
from podium.reference_runs.engine.progress import block_at, position
from podium.reference_runs.profiling.clock import wait
from podium.reference_runs.profiling.counts import Counter
from podium.reference_runs.profiling.kernels import STEPS, WARM_UP, Recording, recorded
from podium.reference_runs.profiling.profile import LevelCost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.stepper import Stepper
    from podium.reference_runs.profiling.layers import LayerClock
    from podium.reference_runs.profiling.profile import Level


class Step(NamedTuple):
    """Milliseconds of a step of wall time, and of CPU time."""

    wall: float
    busy: float


@dataclass
class Times:
    """Steps of one level, and the time per step of each turn in milliseconds."""

    steps: list[Step] = field(default_factory=list)
    turns: list[list[float]] = field(default_factory=list)


class Measuring:
    """A built trainer, and its steps under each level."""

    def __init__(self, stepper: Stepper, log: Logger, done: int, turn_steps: int) -> None:
        self.stepper, self.log, self.done = stepper, log, done
        self.turn_steps = turn_steps
        self.times: dict[Level, Times] = {}
        self.sampled: Callable[[], AbstractContextManager[None]] = nullcontext
        """A context manager around each interval of the log, for a sampler."""

    def block(self, steps: int, stepped: Callable[[], None] | None = None) -> list[Step]:
        """Train steps in the run's loop; the times of all but the first."""
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
        # The first step of a block waits for its loader to start
        return [
            Step(*((b - a) * 1000 for a, b in zip(*pair, strict=True)))
            for pair in itertools.pairwise(ends)
        ]

    def note(self, level: Level, steps: list[Step]) -> None:
        """Keep the times of one turn's steps."""
        known = self.times.setdefault(level, Times())
        known.steps += steps
        # If the CPU does the work, use its CPU time, which excludes other processes
        cuda = self.stepper.task.device.type == "cuda"
        known.turns.append([step.wall if cuda else step.busy for step in steps])

    def bare(self) -> None:
        """Steps without measurement."""
        self.note("bare", self.block(self.turn_steps))

    def run(self) -> None:
        """Steps with the log of a run."""
        config, setting = self.stepper.task.config, self.stepper.task.setting
        first, last = self.done, self.done + self.turn_steps
        with self.sampled(), self.log.block(**block_at(config, setting, first, last)):
            self.note("run", self.block(self.turn_steps))

    def evaluation(self) -> None:
        """One evaluation with the log of a run."""
        config, setting = self.stepper.task.config, self.stepper.task.setting
        metadata = position(config, setting, self.done)
        with self.sampled(), self.log.evaluation(**metadata):
            log_quality(self.log, self.stepper.task, self.stepper.evaluate(), metadata)

    def layers(self, clock: LayerClock) -> None:
        """Steps with each module timed."""
        with clock.on(self.stepper.model):
            self.note("layers", self.block(self.turn_steps))

    def kernels(self, path: Path | None, counter: Counter) -> Recording:
        """Steps under torch's profiler; writes the trace if there is a path."""
        stepper = self.stepper
        names = frozenset(place.operator for place in counter.found)
        place = stepper.task.device
        with recorded(path, place, stepper.model, counted=names, analyzed=True) as recording:
            steps = self.block(WARM_UP + STEPS, recording.profiler.step)
        # The first recorded step includes switching the profiler on
        self.note("kernels", steps[WARM_UP:])
        return recording

    def processors(self) -> float:
        """The average number of busy CPUs of this process in the steps of the run level."""
        steps = self.times["run"].steps
        return sum(step.busy for step in steps) / sum(step.wall for step in steps)

    def counts(self) -> Counter:
        """One step with every operator counted, untimed."""
        counter = Counter()
        with counter.counting(self.stepper.model):
            self.block(1)
        return counter

    def costs(self) -> tuple[LevelCost, ...]:
        """Each level's time per step, and its overhead over the bare steps of the same turns."""
        bare = self.times["bare"].turns
        halves = bare[::2], bare[1::2]
        noise = abs(_low(halves[0]) / _low(halves[1]) - 1) if halves[1] else None
        return tuple(
            LevelCost(
                level=level,
                step_ms=statistics.median(step.wall for step in times.steps),
                steps=len(times.steps),
                overhead=_low(times.turns) / _low(bare) - 1,
                noise=noise,
            )
            for level, times in self.times.items()
        )


def _low(turns: Iterable[list[float]]) -> float:
    """The lower quartile of all steps: disturbances only make a step longer."""
    steps = [*itertools.chain.from_iterable(turns)]
    return statistics.quantiles(steps, n=4)[0] if len(steps) > 1 else steps[0]


def _nothing() -> None:
    pass


@contextmanager
def measuring(request: RunRequest, ranks: Ranks, sink: Any, turn_steps: int) -> Iterator[Measuring]:
    """A trainer ready for measurement: declared, built, its data open."""
    task = task_of(request.benchmark.name)(request.config(), request.setting, ranks)
    with ExitStack() as stack:
        log = stack.enter_context(Logger(sink, rank=ranks.number, root_dir=ROOT))
        stepper, done = start(task, log)
        run = stack.enter_context(log.run())
        open_data(task, log)
        # First calls allocate and tune
        made = Measuring(stepper, log, done, turn_steps)
        made.block(WARM_UP)
        yield made
        run.abort()
