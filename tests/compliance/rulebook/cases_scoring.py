"""Cases of scores: three runs of 405B that take 30, 31 and 32 minutes, with one change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from podium.compliance import score
from podium.compliance.reporting.models import FindingEntry
from podium.rules.finding import Profile
from tests.builders import LogBuilder, build
from tests.compliance.rulebook.case import Case, Reported
from tests.compliance.trees import Change, Submission, usual


def timed(minutes: float) -> Change:
    """A run of this many minutes."""
    return lambda log: log.lasting(minutes)


def good(tmp_path: Path) -> Submission:
    tree = usual(tmp_path / "training_results_v5.1")
    for number in range(3):
        tree.log(number, timed(30 + number))
    return tree


def scored(edit: Callable[[Submission], object] | None = None) -> Reported:
    def case(tmp_path: Path, profile: str) -> list[FindingEntry]:
        tree = good(tmp_path)
        if edit is not None:
            edit(tree)
        return score(tree.root, profile=Profile(profile)).findings

    return case


def pair(edit: Callable[[Submission], object]) -> Case:
    return Case(scored(edit), scored())


def two_aborted(tree: Submission) -> None:
    for number in (0, 1):
        tree.log(number, lambda log: log.meta("run_stop", status="aborted"))


def misnamed(tree: Submission) -> None:
    folder = tree.root / tree.folder()
    (folder / "result_2.txt").rename(folder / "results_2.txt")


def without_start(tmp_path: Path, profile: str) -> list[FindingEntry]:
    """HPC instances without run_start; a training run without run_start is reported as failed."""
    log = build("hpc", "3.0", "closed", "deepcam")
    tree = Submission(tmp_path / "hpc_results_v3.0", log).system()
    tree.result(change=lambda log: log.drop("run_start"), scaling="weak")
    return score(tree.root, profile=Profile(profile)).findings


def count_of_samples(log: LogBuilder) -> LogBuilder:
    return log.meta("eval_accuracy", samples_count=10**12)


def in_seconds(log: LogBuilder) -> LogBuilder:
    for key in ("run_start", "run_stop"):
        log = log.change(key, lambda record: replace(record, time_ms=record.time_ms / 1000))
    return log


CASES: dict[str, Case] = {
    "score.time-unit": pair(lambda tree: tree.log(1, in_seconds)),
    "score.invalid": pair(two_aborted),
    "score.uncounted-logs": pair(misnamed),
    "score.no-time": Case(without_start, scored()),
    "score.mixed-batch-sizes": pair(
        lambda tree: tree.log(2, lambda log: log.set("global_batch_size", 9216))
    ),
    "score.absurd-convergence": pair(lambda tree: tree.log(1, count_of_samples)),
    "score.negative-time": pair(lambda tree: tree.log(1, timed(-5))),
    "score.broken-run-counted": pair(
        lambda tree: tree.log(0, lambda log: timed(30)(log).set("opt_name", "sgd"))
    ),
    "score.uneven-speed": pair(lambda tree: tree.log(0, timed(100))),
    "score.no-energy": pair(
        lambda tree: tree.write(f"{tree.folder()}/power/result_0/node_0.txt", "")
    ),
}
