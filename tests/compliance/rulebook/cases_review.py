"""Cases of rules on whole rounds: a round with a planted error, and a round without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from podium.compliance.judging.options import Options
from podium.compliance.tools.review.anomalies.every import anomalies
from podium.compliance.tools.review.material import read_round
from podium.rules.finding import Finding
from tests.builders import Line, LogBuilder
from tests.compliance.rulebook.case import Case, Reported
from tests.compliance.tools.review.rounds import (
    NAME,
    Build,
    learning,
    losses,
    own,
    relearned,
    seed,
    submission,
    values,
)
from tests.compliance.trees import Change, Submission

EVEN = [240_000.0] * 9
UNEVEN = [240_000.0 + 700 * (-1) ** n * n for n in range(9)]


def reviewed(build: Build) -> Reported:
    """The findings of a review of a round; the official checker does not review rounds."""

    def case(place: Path, profile: str) -> Sequence[Finding]:
        if profile == "verifier":
            return []
        build(place)
        material = read_round(place / NAME, (), Options())
        return [*material.outcome.findings, *anomalies(material)]

    return case


def alone(place: Path) -> Submission:
    return submission(place)


def with_log(change: Change, number: int = 1) -> Build:
    """A submission with one changed log."""

    def build(place: Path) -> None:
        tree = submission(place)
        tree.log(number, lambda log: change(own(log, number)))

    return build


def two(change: Callable[[Submission], object] = lambda _: None) -> Build:
    """Two submissions, with a change of the second."""

    def build(place: Path) -> None:
        submission(place)
        change(submission(place, "Bmce", start=40))

    return build


# --- copies ---

STRETCH = [2.123456, 2.234567, 2.345678, 2.456789, 2.567891]


def with_losses(first: Sequence[float], second: Sequence[float]) -> Build:
    def build(place: Path) -> None:
        submission(place).log(0, lambda log: losses(own(log, 0), first))
        tree = submission(place, "Bmce", start=40)
        tree.log(0, lambda log: losses(own(log, 40), second), start=40)

    return build


# --- clocks ---


def backwards(log: LogBuilder) -> LogBuilder:
    return log.shift("eval_accuracy", -60.0, only=4)


def standing(count: int) -> Change:
    gaps = [240_000.0, *[0.0] * (count - 1), *[240_000.0] * (9 - count)]
    return lambda log: learning(log, gaps, values(1))


def ticking(gaps: Sequence[float]) -> Change:
    return lambda log: learning(log, gaps, values(1))


def paced(share: float) -> Change:
    gaps = [*UNEVEN]
    gaps[5] *= share
    return lambda log: learning(log, gaps, values(1))


# --- comparison of results ---


def peers(times: float) -> Build:
    """Six submissions on the same accelerator, the last of which is `times` as fast."""

    def build(place: Path) -> None:
        for number in range(6):
            share = 1 / times if number == 5 else 1.0 + number / 100
            tree = submission(place, f"Peer{number}", start=10 * number)
            relearned(tree, 10 * number, change=lambda log, s=share: log.lasting(40 * s))

    return build


def uneven(share: float) -> Build:
    """Six runs of one result, one of which takes a share of the usual time."""

    def build(place: Path) -> None:
        tree = submission(place)
        for number in range(6):
            minutes = 40 * (share if number == 4 else 1 + number / 2000)
            tree.log(number, lambda log, n=number, m=minutes: own(log, n).lasting(m))

    return build


def falling(minutes: Sequence[float]) -> Build:
    """Runs whose intervals between evaluations last this many minutes."""

    def change(log: LogBuilder) -> LogBuilder:
        gaps = [60_000 * each for each in minutes]
        return learning(log, gaps, values(1)[: len(gaps)])

    return lambda place: relearned(submission(place), 0, change=change)


def converging(samples: int, batch: int) -> Build:
    """Runs that reach the target after this many samples, at this batch size."""

    def change(log: LogBuilder) -> LogBuilder:
        for place in range(9):
            log = log.meta("eval_accuracy", samples_count=samples * (place + 1) // 8, only=place)
        return log.set("global_batch_size", batch)

    def build(place: Path) -> None:
        relearned(submission(place), 0, change=change)

    return build


def seeded(share: bool) -> Build:
    def build(place: Path) -> None:
        submission(place)
        tree = submission(place, "Bmce", start=40)
        for number in range(3):
            drawn = seed(number if share else 40 + number)
            tree.log(
                number, lambda log, n=number, d=drawn: own(log, 40 + n).set("seed", d), start=40
            )

    return build


# --- times of runs ---


def at_minutes(*starts: float) -> Build:
    """Runs of 40 minutes that begin this many minutes after the first."""

    def build(place: Path) -> None:
        tree = submission(place)
        for number, start in enumerate(starts):
            # as_run starts the runs one hour apart
            late = start - 60 * number
            tree.log(number, lambda log, n=number, by=late: own(log, n).shift_all(by))

    return build


def of_jobs(*numbers: int) -> Build:
    """Runs whose launcher prints the number of their job."""

    def build(place: Path) -> None:
        tree = submission(place)
        for index, number in enumerate(numbers):
            text = f"+ srun --container-name=language_model_{number} true"
            tree.log(index, lambda log, n=index, t=text: said(own(log, n), t))

    return build


def said(log: LogBuilder, *texts: str) -> LogBuilder:
    """A log that begins with the lines of a launcher."""
    lines = [Line(None, "mllog", text=text.encode()) for text in texts]
    return replace(log, lines=(*lines, *log.lines))


# --- code and descriptions ---


def configured(text: str) -> Build:
    def build(place: Path) -> None:
        tree = submission(place)
        tree.write(f"benchmarks/{tree.benchmark}/implementations/ours/config_ex_n8.sh", text)

    return build


def coded(same: bool) -> Build:
    def build(place: Path) -> None:
        for index, name in enumerate(("Acme", "Bmce")):
            tree = submission(place, name, start=40 * index)
            for number in range(8):
                text = f"# part {number} of {'both' if same else name}\n" * 20
                tree.write(f"benchmarks/{tree.benchmark}/implementations/ours/m{number}.py", text)

    return build


def with_file(name: str) -> Build:
    def build(place: Path) -> None:
        tree = submission(place)
        tree.write(f"benchmarks/{tree.benchmark}/implementations/ours/{name}", "import b\n")

    return build


def described(**fields: str) -> Build:
    def build(place: Path) -> None:
        tree = submission(place)
        tree.system("ex_n16", **fields)
        relearned(tree, 20, "ex_n16")

    return build


CASES: dict[str, Case] = {
    rule: Case(reviewed(bad), reviewed(good))
    for rule, bad, good in (
        ("review.overlapping-runs", at_minutes(0, 20, 120), at_minutes(0, 60, 120)),
        ("review.copied-stretch", with_losses(STRETCH, STRETCH), with_losses(STRETCH, [])),
        ("review.clock-back", with_log(backwards), alone),
        ("review.clock-stands", with_log(standing(3)), with_log(standing(2))),
        ("review.regular-times", with_log(ticking(EVEN)), with_log(ticking(UNEVEN))),
        ("review.pace", with_log(paced(0.4)), with_log(paced(0.95))),
        ("review.too-fast", peers(3.0), peers(1.05)),
        ("review.too-slow", peers(0.4), peers(0.95)),
        ("review.outlier-run", uneven(0.905), uneven(0.99)),
        ("review.slow-start", falling([19.2, 9.5, 5.0, 3.1]), falling([3.2, 3.1, 3.1, 3.1])),
        ("review.outside-band", converging(368_640, 4608), converging(493_056, 4608)),
        ("review.near-miss", converging(314_400, 1152), converging(320_000, 1152)),
        ("review.seeds-reused", seeded(share=True), seeded(share=False)),
        ("review.missing-run", at_minutes(0, 42, 84, 170), at_minutes(0, 42, 84, 126)),
        ("review.missing-numbers", of_jobs(5119, 5120, 5122), of_jobs(5119, 5120, 5121)),
        (
            "review.config-disagrees",
            configured("export OPT_BASE_LEARNING_RATE=0.5\n"),
            configured("export OPT_BASE_LEARNING_RATE=${LR:-8e-05}\n"),
        ),
        ("review.opaque-file", with_file("train.cpython-311.pyc"), with_file("train_2.py")),
        ("review.shared-code", coded(same=True), coded(same=False)),
        (
            "review.description-changes",
            described(framework="another framework 9"),
            described(),
        ),
    )
}
