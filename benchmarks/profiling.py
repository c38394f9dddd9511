"""Cost of `podium profile` for the profiled run: level 0 and the plain loop, interleaved.

Blocks of steps alternate between the run's loop as `podium run` calls it, and the same loop under
the run level with the machine's utilization sampled, so that background load affects both equally.
Prints CPU time per step, including sampling, and the ratio; every profile prints the overhead of
the deeper levels.
"""

from __future__ import annotations

import argparse
import statistics
import time

from podium.reference_runs.engine.launch import joined_ranks, run_request
from podium.reference_runs.engine.loop import train_block
from podium.reference_runs.engine.progress import block_at
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.profiling.measuring import Measuring, measuring
from podium.reference_runs.profiling.utilisation.watched import Watched
from podium.reference_runs.profiling.wanted import ProfileRequest


def plain(made: Measuring) -> float:
    """CPU seconds per step of a block as `podium run` trains it."""
    stepper, steps = made.stepper, (made.done, made.done + made.turn_steps)
    at = block_at(stepper.task.config, stepper.task.setting, *steps)
    began = time.process_time()
    with made.log.block(**at):
        train_block(stepper, made.log, steps, lambda _: None)
    made.done = steps[1]
    return (time.process_time() - began) / made.turn_steps


def watched(made: Measuring) -> float:
    """CPU seconds per step of a block under the run level."""
    began = time.process_time()
    made.run()
    return (time.process_time() - began) / made.turn_steps


def main() -> None:
    """Print one line for each trainer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["llama31_8b"])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=10, help="steps per block")
    options = parser.parse_args()
    for name in options.names:
        request = run_request(name, Setting(device="cpu"), {})
        beside = Watched(ProfileRequest())
        with (
            joined_ranks(request) as ranks,
            measuring(request, ranks, beside.sinks, options.steps) as made,
            beside.sampling(ranks.device, made.log) as during,
        ):
            made.sampled = during
            pairs = []
            for pair in range(options.pairs):
                works = (plain, watched) if pair % 2 else (watched, plain)
                found = {work: work(made) for work in works}
                pairs.append((found[watched], found[plain]))
        with_it, without = (statistics.median(each) * 1000 for each in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        print(
            f"{name}: {with_it:.3f} ms a step under level 0, {without:.3f} ms without: {ratio:.3f}"
        )


if __name__ == "__main__":
    main()
