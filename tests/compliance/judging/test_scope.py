"""The scope of a check of only a results folder of a submission."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from podium.compliance import check
from podium.compliance.reporting.models import Report
from tests.builders import LogBuilder
from tests.compliance.trees import Submission, throughput, usual


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    return usual(tmp_path)


def ids(report: Report) -> list[str]:
    return [found.id for found in report.findings]


def test_a_good_result_is_accepted_as_in_its_submission(tree: Submission) -> None:
    report = check(tree.root / tree.folder(), round="5.1")
    assert (report.verdict, report.official_verdict) == ("accepted", "accepted")
    assert report.results == [
        entry.model_copy(update={"path": "."}) for entry in tree.check().results
    ]
    assert [entry.path for entry in report.files] == [
        "../../../systems/ex_n8.json",
        *(f"result_{number}.txt" for number in range(3)),
    ]
    assert report.submissions == []
    assert report.not_judged.startswith("the rest of the submission")


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_missing_run_is_reported_from_any_folder_of_results(tree: Submission, above: int) -> None:
    result = tree.root / tree.folder()
    (result / "result_2.txt").unlink()
    report = check([result, *result.parents][above], round="5.1")
    assert "result.too-few-runs" in ids(report)
    assert (report.results[0].verdict, report.official_verdict) == ("rejected", "rejected")


def test_seeds_and_dropped_runs_of_a_result_folder_are_judged(tree: Submission) -> None:
    def same(log: LogBuilder) -> LogBuilder:
        return log.set("seed", 7)

    tree.log(0, same).log(1, same)
    assert "seeds.repeated" in ids(check(tree.root / tree.folder(), round="5.1"))
    tree.log(1, lambda log: log.set("eval_accuracy", 6.0).meta("run_stop", status="aborted"))
    report = check(tree.root / tree.folder(), round="5.1")
    assert (report.verdict, report.results[0].failed_runs) == ("accepted", 1)


def test_the_rest_of_the_submission_is_not_judged(tree: Submission) -> None:
    shutil.rmtree(tree.root / "benchmarks")
    tree.write("results/ex_n8/notes.docx", "x").write("systems/other.json", "{}")
    assert check(tree.root / tree.folder(), round="5.1").findings == []
    assert {"tree.unknown-file", "code.none"} <= set(ids(tree.check()))


def test_results_given_twice_are_judged_once(tree: Submission, tmp_path: Path) -> None:
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.pipeline import check_paths

    result = tree.root / tree.folder()
    for paths in ([result, result.parent], [result, tree.root], [tree.root, result]):
        report = check_paths(paths, Options(round="5.1"))
        assert (len(report.results), len(report.files)) == (1, 4)
        assert report.verdict == "accepted"


def test_instances_of_throughput_are_judged_as_a_result(tmp_path: Path) -> None:
    tree = throughput(tmp_path)
    [folder] = (tree.root / "results").glob("*/weak/*")
    report = check(folder, usage="hpc", round=tree.rules.name)
    assert [(entry.path, entry.scaling) for entry in report.results] == [(".", "weak")]
    assert "throughput.no-strong-result" not in ids(report)


def test_logs_below_a_result_or_outside_results_are_loose_logs(tree: Submission) -> None:
    result = tree.root / tree.folder()
    for folder in (result / "old", tree.root / "benchmarks/kept"):
        shutil.copytree(result, folder, ignore=shutil.ignore_patterns("old"))
        report = check(folder, round="5.1")
        assert (report.results, len(report.files)) == ([], 3)
        assert report.not_judged.startswith("results: number of runs")


def test_a_single_log_has_no_note_on_unchecked_parts(tree: Submission) -> None:
    report = check(tree.root / tree.folder() / "result_0.txt", round="5.1")
    assert report.not_judged == ""
