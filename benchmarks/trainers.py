"""Cost of a trainer's step compared with a plain torch loop of the same model, and of logging.

Blocks of steps are interleaved, so that background load affects all of them: the trainer's loop
with a log in a file, the same with a logger that generates no lines, and a loop of a few lines.
Prints CPU time per step and the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from podium.logging_spec import Logger
from podium.reference_runs.catalogue import find, task_of
from podium.reference_runs.engine.loop import train_block
from podium.reference_runs.engine.progress import block_at, position
from podium.reference_runs.engine.ranks import Ranks
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.engine.stepper import Stepper


class Nowhere:
    """A sink that discards everything."""

    def write(self, line: bytes) -> None:
        """Discard it."""

    def retry(self) -> None:
        """Do nothing, since nothing is stored."""

    sync = close = retry


class Quiet(Logger):
    """A logger that generates no lines."""

    def __init__(self) -> None:
        super().__init__(Nowhere(), rank=1)


def as_trained(stepper: Stepper, log: Logger, steps: tuple[int, int]) -> None:
    """A block with the trainer's loop and log, with a given quality instead of an evaluation."""
    config, setting = stepper.task.config, stepper.task.setting
    with log.block(**block_at(config, setting, *steps)):
        mean = train_block(stepper, log, steps, lambda _: None)
    at = position(config, setting, steps[1])
    log.event("tracked_stats", {"train_loss": mean}, metadata={"step": steps[1]})
    with log.evaluation(**at) as evaluation:
        evaluation.accuracy(mean)


def plainly(stepper: Stepper, steps: tuple[int, int]) -> None:
    """The same steps in a plain torch loop; the sum of losses is read at the end."""
    task: Any = stepper.task
    model, optimizers = stepper.model, stepper.optimizers
    parameters = [each for each in model.parameters() if each.requires_grad]
    epoch, place = divmod(steps[0], task.config.steps_per_epoch)
    total = torch.zeros(())
    for batch in islice(task.batches(epoch + 1, place), steps[1] - steps[0]):
        loss, items = task.loss(model, batch)
        loss = loss / items
        loss.backward()
        task.clip(parameters)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.detach()
    float(total)


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["llama31_8b", "rgat"])
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--steps", type=int, default=16, help="steps per block")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.names:
        task = task_of(name)(find(name).smoke(), Setting(), Ranks(torch.device("cpu")))
        if task.config.steps_per_epoch % options.steps:
            parser.error(f"--steps must divide {task.config.steps_per_epoch}, an epoch of {name}")
        task.prepare()
        stepper, done = Stepper(task), 0
        with tempfile.TemporaryDirectory() as scratch:
            log, quiet = Logger(str(Path(scratch) / "log.txt"), rank=0), Quiet()
            ways = {
                "logged": lambda steps, of=stepper, log=log: as_trained(of, log, steps),
                "quiet": lambda steps, of=stepper, log=quiet: as_trained(of, log, steps),
                "plain": lambda steps, of=stepper: plainly(of, steps),
            }
            times: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(options.turns):
                for way in [*ways][:: -1 if turn % 2 else 1]:
                    steps = done, done + options.steps
                    began = time.process_time()
                    ways[way](steps)
                    times[way].append((time.process_time() - began) / options.steps * 1000)
                    done = steps[1]
        print(f"{name}: {statistics.median(times['logged']):.3f} ms per step", end="")
        for way, said in (("plain", "a plain loop"), ("quiet", "the same without a log")):
            ratios = [a / b for a, b in zip(times["logged"], times[way], strict=True)]
            print(f"; {statistics.median(ratios):.4f} of {said}", end="")
        print()


if __name__ == "__main__":
    main()
