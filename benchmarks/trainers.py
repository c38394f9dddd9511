"""What logging costs a training step: the same steps with the log and without, in turns.

Blocks of steps alternate between a logger that writes a file and one that writes nothing, so that
whatever else the machine does falls on both. Prints processor time per step and the ratio.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import find, task_of
from podium.reference_runs.engine.loop import train_block
from podium.reference_runs.engine.progress import block_at, position
from podium.reference_runs.engine.ranks import Ranks
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.engine.stepper import Stepper


class Nowhere:
    """A sink that keeps nothing."""

    def write(self, line: bytes) -> None:
        """Forget it."""

    def retry(self) -> None:
        """Nothing is kept."""

    sync = close = retry


def block(stepper: Stepper, log: Logger, steps: tuple[int, int]) -> float:
    """Processor seconds per step of a block, logged as the loop logs it."""
    config, setting = stepper.task.config, stepper.task.setting
    began = time.process_time()
    with log.block(**block_at(config, setting, *steps)):
        mean = train_block(stepper, log, steps, lambda _: None)
    at = position(config, setting, steps[1])
    log.event("tracked_stats", {"train_loss": mean}, metadata={"step": steps[1]})
    with log.evaluation(**at) as evaluation:
        evaluation.accuracy(mean)
    return (time.process_time() - began) / (steps[1] - steps[0])


class Quiet(Logger):
    """A logger that makes no lines at all."""

    def __init__(self) -> None:
        super().__init__(Nowhere(), rank=1)


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["llama31_8b", "rgat"])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20, help="steps of a block")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        task = task_of(name)(find(name).smoke(), Setting(), Ranks(torch.device("cpu")))
        task.prepare()
        stepper, done = Stepper(task), 0
        times: dict[bool, list[float]] = {True: [], False: []}
        with tempfile.TemporaryDirectory() as scratch:
            logs = {True: Logger(str(Path(scratch) / "log.txt"), rank=0), False: Quiet()}
            for pair in range(options.pairs):
                for logged in (True, False) if pair % 2 else (False, True):
                    steps = done, done + options.steps
                    times[logged].append(block(stepper, logs[logged], steps))
                    done = steps[1]
        ratios = [a / b for a, b in zip(times[True], times[False], strict=True)]
        with_log, without = (statistics.median(times[logged]) * 1000 for logged in (True, False))
        print(
            f"{name}: {with_log:.3f} ms per step with the log, {without:.3f} without;"
            f" ratio of pairs {statistics.median(ratios):.4f}"
        )


if __name__ == "__main__":
    main()
