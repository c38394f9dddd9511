"""A run from init_start to run_stop, the same for every benchmark."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from podium.logging_spec import keys
from podium.reference_runs.engine.checkpoints.checkpoint import load, save
from podium.reference_runs.engine.checkpoints.randomness import seed_everything, seed_rank
from podium.reference_runs.engine.checkpoints.timed import timed
from podium.reference_runs.engine.config import Unit
from podium.reference_runs.engine.progress import block_at, blocks, position
from podium.reference_runs.engine.stepper import Stepper
from podium.reference_runs.errors import DataDamaged, DataMissing, RunAborted
from podium.reference_runs.log.declare import NOTE, clear_caches, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from podium.logging_spec import Logger
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.task import Task

    Watch = Callable[["RunProgress"], None]


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run: finished steps, the last loss and the last quality."""

    step: int
    loss: float | None = None
    quality: float | None = None


@dataclass(frozen=True)
class Outcome:
    """The result of a run: `quality` is from its last evaluation, None if there was none."""

    converged: bool
    step: int
    quality: float | None
    trained_ms: int | None = None
    """The time of the update before the last evaluation, in milliseconds since 1970."""
    trace: str = ""
    """Tables of the time per operator, if steps of the run were traced."""


def _ignore_progress(_: RunProgress) -> None:
    pass


def train(task: Task[Any], log: Logger, watch: Watch = _ignore_progress) -> Outcome:
    """Train to the target or the last step, and log the run.

    After an exception the log has a `run_stop` with the status "aborted", except after an
    interruption of a run that has a checkpoint.
    """
    stepper, done = start(task, log)
    with timed(log, stepper) as run, traced(stepper, log) as tables:
        open_data(task, log)
        outcome = Outcome(False, done, None)
        for outcome in evaluated_blocks(stepper, log, done, watch):
            # The clock stops at the first evaluation that meets the target, or the update before
            if outcome.converged:
                stopped = outcome.trained_ms if task.config.evaluated_offline else None
                run.success(stopped, **position(task.config, task.setting, outcome.step))
                break
        else:
            run.abort()
        return replace(outcome, trace=tables())


def evaluated_blocks(stepper: Stepper, log: Logger, done: int, watch: Watch) -> Iterator[Outcome]:
    """Train from evaluation to evaluation; yields the outcome if the run ended there.

    Raises DataDamaged if a file turns out to be unusable after the run has begun.
    """
    config, setting = stepper.task.config, stepper.task.setting
    try:
        for first, last in blocks(config, done):
            with log.block(**block_at(config, setting, first, last)):
                mean_loss = train_block(stepper, log, (first, last), watch)
                trained_ms = time.time_ns() // 1_000_000
            metadata = position(config, setting, last)
            # No rule has this key, but submitters report such values under it
            log.event("tracked_stats", {"train_loss": mean_loss}, metadata={"step": last})
            with log.evaluation(**metadata):
                quality = stepper.evaluate()
                check_finite(quality, f"the {config.metric}", last)
                log_quality(log, stepper.task, quality, metadata)
            watch(RunProgress(last, mean_loss, quality))
            if setting.checkpoint is not None:
                save(stepper, setting.checkpoint, last)
                stepper.saved = last
            yield Outcome(config.reached(quality), last, quality, trained_ms)
    except DataMissing as error:
        raise DataDamaged(str(error)) from None


def open_data(task: Task[Any], log: Logger) -> None:
    """Stage and open the data, and log the number of samples, all in the timed part.

    Raises DataMissing if it is not the benchmark's dataset, RunFault if it does not fill a batch.
    """
    # No rank may read the data before rank 0 has logged run_start
    task.ranks.gather(None)
    # Timed, as HPC rounds before 3.0 require
    task.stage(log)
    task.open_data()
    wanted, counts = task.config, task.samples()
    if task.saved_samples not in (None, counts):
        raise DataMissing(
            f"--resume: the data have {counts[0]} training and {counts[1]} evaluation samples; when"
            f" the checkpoint was written, {task.saved_samples[0]} and {task.saved_samples[1]}"
        )
    if counts != (wanted.train_samples, wanted.eval_samples):
        task.config = _of_another_size(task, *counts)
    task.config.check_filled()
    # The log of a resumed run already has them
    if task.setting.resume:
        return
    # After run_start, as in many published logs; the rules do not fix the position
    log.event(keys.TRAIN_SAMPLES, counts[0])
    log.event(keys.EVAL_SAMPLES, counts[1])
    if not _fits(wanted, *counts):
        least = "at least " if wanted.samples_are_least else ""
        log.event(
            NOTE,
            f"--allow-subset: the dataset contains {counts[0]} training and {counts[1]} evaluation"
            f" samples; the benchmark's {least}{wanted.train_samples} and {wanted.eval_samples}",
        )


def _of_another_size(task: Task[Any], training: int, evaluation: int) -> Config:
    """The config with the actual counts; raises DataMissing if they are not acceptable."""
    config: Config = task.config
    if not task.setting.allow_subset and not _fits(config, training, evaluation):
        raise DataMissing(
            f"train_samples and eval_samples are {config.train_samples} and {config.eval_samples};"
            f" the data contain {training} and {evaluation}"
        )
    return replace(config, train_samples=training, eval_samples=evaluation)


def _fits(config: Config, training: int, evaluation: int) -> bool:
    """Whether these sizes match the benchmark's dataset."""
    enough = config.samples_are_least and training >= config.train_samples
    return evaluation == config.eval_samples and (enough or training == config.train_samples)


def start(task: Task[Any], log: Logger) -> tuple[Stepper, int]:
    """The untimed part: log the declarations, build the model; returns the steps already done.

    No data is read here: the rules require that in the timed part.
    """
    setting = task.setting
    seed_everything(setting.seed)
    # Before the model is built, which can take minutes
    task.check_files()
    # The log already has the declarations; the checkpoint is refused if they would differ
    if setting.resume:
        task.prepare()
        stepper = Stepper(task)
        restored = load(stepper, setting.checkpoint)
        task.saved_samples = restored.samples
        stepper.saved = restored.step
        if restored.division:
            log.event(NOTE, restored.division)
        return stepper, restored.step
    # Before init_start: the 0.6 rules check that order
    clear_caches(log, setting)
    with log.init():
        declare(log, task.config, setting, task.ranks)
        task.prepare()
        stepper = Stepper(task)
        seed_rank(setting.seed, task.ranks)
        return stepper, 0


@contextmanager
def traced(stepper: Stepper, log: Logger) -> Iterator[Callable[[], str]]:
    """Trace some steps if the setting requests it; yields a function that returns their tables."""
    path, ranks = stepper.task.setting.trace, stepper.task.ranks
    if path is None or not ranks.first:
        yield str
        return
    from podium.reference_runs.profiling.traced import traced_steps

    log.event(NOTE, "some steps of this run were profiled, which slows them down")
    with traced_steps(path, ranks.device, stepper.model) as (stepped, tables):
        stepper.stepped = stepped
        yield tables


def train_block(stepper: Stepper, log: Logger, bounds: tuple[int, int], watch: Watch) -> float:
    """Train from one step count to another; returns the mean loss.

    If the benchmark counts whole epochs, each epoch is an interval in the log. Raises RunAborted if
    the loss is not finite; it is the same on all ranks, so that they stop together.
    """
    config, setting = stepper.task.config, stepper.task.setting
    counts_epochs = config.unit_in(setting.round) is Unit.EPOCHS
    step, last = bounds
    losses: list[torch.Tensor] = []
    while step < last:
        epoch, begin = divmod(step, config.steps_per_epoch)
        end = min(last, (epoch + 1) * config.steps_per_epoch)
        interval: AbstractContextManager[Any] = (
            log.epoch(epoch + 1) if counts_epochs else nullcontext()
        )
        with interval:
            for loss in stepper.steps(epoch + 1, begin, end - step):
                step += 1
                stepper.task.ranks.check_stopped()
                # Kept on the device: reading each loss would synchronize with the device
                losses.append(loss)
                if stepper.reports(step):
                    check_finite(float(loss), "the training loss", step)
                    watch(RunProgress(step, float(loss)))
    mean = float(torch.stack(losses).mean())
    check_finite(mean, "the mean training loss", last)
    return mean


def check_finite(value: float, name: str, step: int) -> None:
    """Raise RunAborted for NaN and infinities, which logs cannot contain."""
    if not math.isfinite(value):
        raise RunAborted(f"{name} is {value} at step {step}: training has diverged")


def log_quality(log: Logger, task: Task[Any], quality: float, metadata: Mapping[str, Any]) -> None:
    """Log the quality at a position in training, under the keys of the rules."""
    config, setting = task.config, task.setting
    unit = config.quality_in(setting.round, quality)
    for key, value, more in config.quality_records(unit, setting.division):
        log.event(key, value, {**metadata, **more})
