"""`podium review` of a whole round: its data, invalid input and earlier rounds."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.judging.logs.trace import MOST_POINTS, trace_of
from podium.compliance.tools.review.anomalies.peers import robust_z
from podium.logging_spec.reader.record import Record
from podium.rules.run import Run
from tests.compliance.rulebook.cases_review import STRETCH
from tests.compliance.tools.review.rounds import (
    NAME,
    found,
    losses,
    own,
    relearned,
    seed,
    submission,
)


def review(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    """Return the review in the JSON output."""
    assert cli.run(["review", *map(str, words), "--format", "json"]) in (Exit.CLEAN, Exit.FOUND)
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def before(place: Path) -> Path:
    """Write an earlier round into a separate folder."""
    earlier = place / "training_results_v5.0"
    submission(place / "then")
    shutil.move(place / "then" / NAME, earlier)
    return earlier


# --- earlier rounds -------------------------------------------------------------------------------


def test_a_stretch_copied_from_an_earlier_round_is_found(tmp_path: Path) -> None:
    earlier = before(tmp_path)
    log = submission(tmp_path / "old").which
    losses(own(log, 0), STRETCH).write(earlier / "Acme/results/ex_n8/llama31_405b/result_0.txt")
    tree = submission(tmp_path, "Bmce", start=40)
    tree.log(0, lambda log: losses(own(log, 40), STRETCH), start=40)
    (one,) = found(tmp_path, "review.copied-stretch", earlier)
    assert one.path == "Bmce/results/ex_n8/llama31_405b/result_0.txt"
    assert "training 5.0, Acme/results/ex_n8/llama31_405b/result_0.txt" in one.message
    assert str(tmp_path) not in one.message


def test_new_runs_are_not_copies_of_an_earlier_round(tmp_path: Path) -> None:
    earlier = before(tmp_path)
    submission(tmp_path, "Bmce", start=40)
    assert found(tmp_path, "review.copied-stretch", earlier) == []
    assert found(tmp_path, "review.seeds-reused", earlier) == []


def test_seeds_of_an_earlier_round_are_reported(tmp_path: Path) -> None:
    earlier = before(tmp_path)
    tree = submission(tmp_path, "Bmce", start=40)
    for number in range(3):
        tree.log(number, lambda log, n=number: own(log, 40 + n).set("seed", seed(n)), start=40)
    (one,) = found(tmp_path, "review.seeds-reused", earlier)
    assert one.message.startswith("3 of 3 seeds")
    assert one.message.endswith("training 5.0, Acme/results/ex_n8/llama31_405b")


def test_settings_show_whether_they_are_unique_and_who_had_them_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    earlier = before(tmp_path)
    acme = submission(tmp_path)
    relearned(acme, 0, change=lambda log: log.set("opt_end_learning_rate", 1e-9))
    submission(tmp_path, "Bmce", start=40)
    submission(tmp_path, "Cmce", start=80)
    made = review(capsys, tmp_path / NAME, "--earlier", earlier)
    results = {each["submitter"]: each for each in made["results"]}
    mine, theirs = (results[name]["settings"] for name in ("Acme", "Bmce"))
    assert mine["opt_end_learning_rate"]["alone"] is True
    assert mine["opt_end_learning_rate"]["first"] == ""
    assert theirs["opt_end_learning_rate"]["alone"] is False
    assert theirs["opt_end_learning_rate"]["first"].endswith("Acme/results/ex_n8/llama31_405b")
    assert mine["dropout"]["usual"] is True
    assert results["Acme"]["borrows"] == []
    assert results["Bmce"]["borrows"] == ["Cmce/results/ex_n8/llama31_405b"]


# --- data -----------------------------------------------------------------------------------------


def test_the_review_is_valid_by_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = submission(tmp_path)
    tree.log(1, lambda log: own(log, 0).set("seed", 77))
    assert cli.run(["rules", "schema", "review"]) == Exit.CLEAN
    schema = json.loads(capsys.readouterr().out)
    made = review(capsys, tmp_path / NAME)
    assert made["schema"] == "podium.review/1"
    jsonschema.validate(made, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made | {"objections": [{"id": 1}]}, schema)


def test_a_curve_has_every_evaluation_and_ends_with_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submission(tmp_path)
    (result,) = review(capsys, tmp_path / NAME)["results"]
    curve = result["runs"][0]["quality"]
    assert curve["unit"] == "samples_count"
    assert curve["logged"] == len(curve["points"]) == 9
    minutes = [point[0] for point in curve["points"]]
    assert minutes == sorted(minutes)
    assert 0 < minutes[0] < minutes[-1] <= result["runs"][0]["minutes"]


def test_the_trace_of_a_long_run_is_bounded() -> None:
    records = [
        Record("eval_accuracy", float(number), number / 7, {"samples_count": number})
        for number in range(3 * MOST_POINTS + 1)
    ]
    trace = trace_of(Run(records))
    assert trace.quality.total == len(records)
    assert len(trace.quality.points) <= MOST_POINTS + 1
    assert trace.quality.points[-1][3] == (len(records) - 1) / 7
    assert len(trace.stretches) <= 3 * 128
    assert trace_of(Run([])).quality.points == ()


@pytest.mark.parametrize("value", [None, "x", [1], {"value": "y"}, math.nan, True])
def test_a_trace_leaves_out_values_that_are_not_numbers(value: Any) -> None:
    records = [
        Record("eval_accuracy", 1.0, value, "no object"),
        Record("train_loss", 2.0, value, {}),
    ]
    trace = trace_of(Run(records))
    assert trace.quality.points == trace.loss.points == ()


def test_the_review_does_not_depend_on_the_number_of_processes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, name in enumerate(("Acme", "Bmce")):
        submission(tmp_path, name, start=40 * index)
    one, two = (review(capsys, tmp_path / NAME, "--jobs", jobs) for jobs in (1, 3))
    assert one == two


# --- bad input ------------------------------------------------------------------------------------


def test_an_incomplete_round_is_reviewed_as_far_as_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    submission(tmp_path)
    other = submission(tmp_path, "Bmce", start=40)
    (other.root / other.folder() / "result_1.txt").write_bytes(b":::MLLOG {\xff broken\n")
    (other.root / other.folder() / "result_2.txt").write_bytes(b"")
    (other.root / "systems/ex_n8.json").write_text("{ no json")
    made = review(capsys, tmp_path / NAME)
    assert {each["submitter"] for each in made["submissions"]} == {"Acme", "Bmce"}
    (result,) = [each for each in made["results"] if each["submitter"] == "Bmce"]
    assert [run["converged"] for run in result["runs"]] == [True, False, False]
    assert {"log.no-records"} <= {each["rule"] for each in made["objections"]}


def test_invalid_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = submission(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").write_text("a")
    for words, complaint in (
        (["--output", str(tree.root / "review")], "is inside the tree being read"),
        (["--output", str(full)], "already exists"),
        (["--against", str(full)], "cannot be read"),
    ):
        assert cli.run(["review", str(tmp_path / NAME), *words]) == Exit.USAGE
        assert complaint in capsys.readouterr().err
    assert cli.run(["review", str(tmp_path / "nothing")]) == Exit.USAGE
    assert [path.name for path in full.iterdir()] == ["a"]


def test_the_tree_is_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = submission(tmp_path)
    held = sorted(path for path in tree.root.rglob("*"))
    words = ["review", str(tmp_path / NAME), "--output", str(tmp_path / "out"), "--no-curves"]
    assert cli.run(words) in (Exit.CLEAN, Exit.FOUND)
    assert sorted(path for path in tree.root.rglob("*")) == held
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".podium")]
    assert not (tmp_path / "out" / "charts").exists()


# --- statistics -----------------------------------------------------------------------------------


def test_robust_distances_are_not_changed_by_an_outlier() -> None:
    values = [10.0, 10.1, 9.9, 10.05, 9.95, 30.0]
    z = robust_z(values, 0.1)
    assert z[-1] > 50
    assert max(abs(each) for each in z[:-1]) < 2
    assert robust_z([], 0.1) == []
    assert robust_z([5.0], 0.1) == [0.0]
    # Equal values get a minimum scatter, so that the next value has a finite distance
    assert robust_z([5.0, 5.0, 5.0, 5.2], 0.1)[-1] == pytest.approx(0.2 / 0.1)
    assert robust_z([0.0, 0.0], 0.0) == [0.0, 0.0]
