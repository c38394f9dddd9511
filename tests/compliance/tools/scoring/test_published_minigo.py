"""Published scores of MiniGo: the end of a run, and the runs that converge.

The corpus does not have the logs of these results. The tests make logs whose times average to
the published figures.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from podium.compliance import score
from podium.compliance.tools.scoring.report import ScoreEntry
from podium.logging_spec.reader.record import Record
from tests.builders import LogBuilder, build
from tests.compliance.command_line import podium
from tests.compliance.trees import Submission


def seconds_between(log: LogBuilder) -> float:
    return (log.first("run_stop").time_ms - log.first("run_start").time_ms) / 1000


def timed(log: LogBuilder, minutes: float) -> LogBuilder:
    """Return the log with run_stop `minutes` minutes after run_start."""
    return log.shift("run_stop", minutes - seconds_between(log) / 60)


def with_result(log: LogBuilder, rate: float, minutes: float) -> LogBuilder:
    """Add an eval_result that places the last model `minutes` minutes after run_start."""
    metadata = {"epoch_num": 1, "timestamp": minutes * 60}
    return log.add("eval_result", rate, metadata, before="run_stop")


def aborted(log: LogBuilder) -> LogBuilder:
    """Return the log of a run that was aborted below the target."""
    return log.set("eval_accuracy", 0.41).meta("run_stop", status="aborted")


def result(folder: Path, round_name: str, minutes: list[float], failed: float) -> ScoreEntry:
    """The score of nine runs that converge and one run that is aborted after `failed` minutes."""
    place = folder / f"training_results_v{round_name}"
    made = Submission(place, build("training", round_name, "closed", "minigo")).system()
    for number, time in enumerate(minutes):
        # The timestamp was taken shortly before run_stop was logged
        made.log(number, lambda log, t=time: with_result(timed(log, t), 0.52, t - 0.009))  # type: ignore[misc]
    made.log(9, lambda log: with_result(aborted(timed(log, failed)), 0.41, failed - 0.009))
    (entry,) = score(made.root).results
    return entry


@pytest.mark.parametrize(
    ("round_name", "published", "if_it_counted"),
    [("1.0", 15.5314, 15.1977), ("2.1", 516.052, 499.755)],
)
def test_a_run_aborted_below_the_target_is_the_slowest(
    tmp_path: Path, round_name: str, published: float, if_it_counted: float
) -> None:
    # The published score is the mean of runs 1 to 8. If the aborted run counted as converged, it
    # would take the place of run 8.
    apart = 8 * (published - if_it_counted)
    steps = [-0.9, -0.5, -0.4, -0.3, -0.1, 0.1, 0.3, 0.4, 0.5]
    converged = [published + step * apart for step in steps]
    failed = converged[8] - apart
    assert converged[0] < failed < converged[8]
    entry = result(tmp_path, round_name, converged, failed)
    assert (entry.converged, entry.run_list[9].role) == (9, "failed")
    assert entry.minutes == entry.score == pytest.approx(published, abs=1e-5)
    folder = tmp_path / f"training_results_v{round_name}/Acme"
    explained = podium("score", folder, "--explain", "minigo").output
    assert "Time to train is run_stop - run_start." in explained
    assert "it did not converge" in " ".join(explained.split())


@pytest.mark.parametrize("round_name", ["0.7", "1.0", "1.1", "2.0", "2.1"])
def test_after_0_6_a_run_ends_at_run_stop(tmp_path: Path, round_name: str) -> None:
    entry = result(tmp_path, round_name, [20.0 + step for step in range(9)], 1)
    assert [run.minutes for run in entry.run_list[:9]] == pytest.approx(
        [20.0 + step for step in range(9)], abs=1e-4
    )
    assert entry.score == pytest.approx(24.5, abs=1e-4)


def test_published_runs_with_models_evaluated_after_run_stop_are_scored(corpus: Path) -> None:
    folder = corpus / "training_results_v2.0/GIGABYTE/results/G492-ID0_tensorflow/minigo"
    (entry,) = score(folder).results
    # The generation that eval_result names; only the evaluations give it as a position
    assert [run.to_converge for run in entry.run_list] == [37, 43, 47, 42, 44, 40, 40, 44, 43, 39]
    assert entry.score == pytest.approx(304.44407708333335, rel=1e-12)


# --- 0.6 ---


def of_0_6(log: LogBuilder, minutes: float, *, stopped: bool) -> LogBuilder:
    """Return a run of 0.6 whose winning model came after `minutes` minutes."""

    def won(record: Record) -> Record:
        metadata = {"iteration": 7, "timestamp": minutes * 60}
        return msgspec.structs.replace(record, value=0.51, metadata=metadata)

    log = log.change("eval_result", won)
    # In public logs, run_stop comes long after the winning model or is missing
    return timed(log, 32.8) if stopped else log.drop("run_stop")


@pytest.mark.parametrize("stopped", [True, False])
def test_in_0_6_a_run_ends_with_its_winning_model(tmp_path: Path, stopped: bool) -> None:
    log = build("training", "0.6", "closed", "minigo")
    made = Submission(tmp_path / "training_results_v0.6", log)
    for number in range(10):
        made.log(number, lambda log, n=number: of_0_6(log, 9.93 + n, stopped=stopped))  # type: ignore[misc]
    (entry,) = score(made.root).results
    assert (entry.runs, entry.needed, entry.converged) == (10, 10, 10)
    assert entry.minutes == entry.score == pytest.approx(14.43)
    explained = " ".join(podium("score", made.root, "--explain", "minigo").output.split())
    assert "Time to train is the timestamp of eval_result" in explained
    verified = podium("score", made.root, "--explain", "minigo", "--profile", "verifier").output
    assert "Time to train is run_stop - run_start." in verified
