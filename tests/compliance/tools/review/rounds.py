"""Complete rounds on disk: llama31_405b in training 5.1, with generated learning curves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from podium.compliance.judging.options import Options
from podium.compliance.rulebook.tables.whole_log import record_of
from podium.compliance.tools.review.anomalies.every import anomalies
from podium.compliance.tools.review.material import read_round
from podium.rules.finding import Finding
from tests.builders import Line, LogBuilder
from tests.compliance.trees import Change, Submission, usual

NAME = "training_results_v5.1"
STEP = 46_080
"""Samples between two evaluations."""

TRAINED = ("eval_accuracy", "eval_start", "eval_stop", "block_start", "block_stop")

MINUTES = 40.0
"""The duration of a run in these rounds."""


def submission(place: Path, name: str = "Acme", start: int = 0) -> Submission:
    """A submission in a round below `place`, with three runs that are unique to `start`."""
    which = usual(place / "made").which
    tree = Submission(place / NAME, which, name).system().code()
    return relearned(tree, start=start)


def relearned(
    tree: Submission, start: int, system: str = "ex_n8", change: Change = lambda log: log
) -> Submission:
    """Add a result whose three runs have curves and seeds that are unique to `start`."""
    for number in range(3):
        tree.log(number, lambda log, n=number: change(own(log, start + n)), system, start=start)
    return tree


def own(log: LogBuilder, number: int) -> LogBuilder:
    """Return a run with its own curve, clock and seed."""
    rng = random.Random(number)
    gaps = [240_000 + rng.randrange(-9000, 9000) for _ in range(9)]
    return learning(log, gaps, values(number)).set("seed", seed(number))


def seed(number: int) -> int:
    return 1_000_003 * (number + 1)


def values(number: int, count: int = 9) -> list[float]:
    """Return evaluations that fall to the target, with different digits for each run."""
    rng = random.Random(1000 + number)
    return [6.0 - 0.35 * step / (count - 1) * 1.4 + rng.random() / 50 for step in range(count)]


def learning(log: LogBuilder, gaps: Sequence[float], found: Sequence[float]) -> LogBuilder:
    """Replace the evaluations of the log with these, `gaps` milliseconds apart."""
    start = log.first("run_start")
    source = log.lines[log.where("run_start")[0]]
    bare = log.drop(*(key for key in TRAINED if key in log.names()))
    at, lines = start.time_ms, []
    for number, (gap, value) in enumerate(zip(gaps, found, strict=True), 1):
        at += gap
        record = record_of("eval_accuracy", value, {"samples_count": STEP * number}, int(at))
        lines.append(replace(source, record=record))
    stop = bare.where("run_stop")[0]
    made = replace(bare, lines=(*bare.lines[:stop], *lines, *bare.lines[stop:]))
    return made.lasting(MINUTES)


def losses(log: LogBuilder, found: Sequence[float]) -> LogBuilder:
    """Add these losses before the first evaluation of the log."""
    for number, value in enumerate(found):
        log = log.add("train_loss", value, {"samples_count": number}, before="eval_accuracy")
    return log


def moved(line: Line, milliseconds: float) -> Line:
    assert line.record is not None
    late = msgspec.structs.replace(line.record, time_ms=int(line.record.time_ms + milliseconds))
    return replace(line, record=late)


def found(place: Path, rule: str, *earlier: Path) -> list[Finding]:
    """Return the findings of one rule in a review of the round below `place`."""
    material = read_round(place / NAME, earlier, Options())
    return [each for each in anomalies(material) if each.id == rule]


Build = Callable[[Path], object]
"""Writes a round below a folder."""
