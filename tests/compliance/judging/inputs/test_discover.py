"""Discovery of submissions in trees whose layout differs from the documented one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from podium.compliance import check
from podium.compliance.reporting.models import Report
from tests.builders import build
from tests.compliance.command_line import podium
from tests.compliance.trees import Submission, good, usual
from tests.locations import CORPUS

ALONE = "tree.no-systems"


def undescribed(tree: Submission) -> Submission:
    """Remove the folder `systems` of a submission and return the submission."""
    shutil.rmtree(tree.root / "systems")
    return tree


def of_rule(report: Report, rule: str) -> list[Any]:
    return [finding for finding in report.findings if finding.id == rule]


@pytest.mark.parametrize(("round_", "benchmark"), [("0.5", "resnet"), ("0.6", "maskrcnn")])
def test_submissions_of_0_5_and_0_6_need_no_systems_folder(
    round_: str, benchmark: str, tmp_path: Path
) -> None:
    tree = undescribed(good(tmp_path, "training", round_, benchmark))
    report = tree.check()
    assert [entry.path for entry in report.submissions] == ["."]
    assert [entry.benchmark for entry in report.results] == [benchmark]
    assert [f.severity for f in of_rule(report, "tree.no-system-description")]
    assert of_rule(report, ALONE) == []
    (tree.root / tree.folder() / "result_0.txt").unlink()
    assert of_rule(tree.check(), "result.too-few-runs")


def test_submissions_of_0_6_are_found_by_the_name_of_their_round_folder(tmp_path: Path) -> None:
    place = tmp_path / "training_results_v0.6"
    for name in ("Acme", "Bmce"):
        tree = good(tmp_path, "training", "0.6", "maskrcnn")
        shutil.copytree(undescribed(tree).root, place / name)
        shutil.rmtree(tree.root)
    report = check(place)
    assert [entry.submitter for entry in report.submissions] == ["Acme", "Bmce"]


def test_submissions_of_0_5_may_be_nested_deeper(tmp_path: Path) -> None:
    place = tmp_path / "training_results_v0.5"
    tree = good(tmp_path, "training", "0.5", "resnet")
    inner = place / "v0.5.0" / "acme" / "acme_resnet_submission"
    shutil.copytree(undescribed(tree).root, inner)
    (place / "v0.5.0" / "acme" / "result_9.txt").write_text("")
    report = check(place)
    [entry] = report.submissions
    assert (entry.submitter, entry.path) == ("acme", "v0.5.0/acme/acme_resnet_submission")
    assert [result.path for result in report.results] == [f"{entry.path}/{tree.folder()}"]
    logs = [file.path for file in report.files if file.kind == "log"]
    assert len(logs) == len(set(logs)) == 6
    assert "v0.5.0/acme/result_9.txt" in logs


@pytest.mark.parametrize("profile", ["policy", "verifier"])
def test_logs_of_later_rounds_without_a_systems_folder_are_loose_logs(
    profile: str, tmp_path: Path
) -> None:
    tree = undescribed(usual(tmp_path))
    report = tree.check(profile)
    assert (report.submissions, report.results) == ([], [])
    # The official verifier gives no verdict on a folder with the layout of a submission
    reported = [(f.path, f.severity) for f in of_rule(report, ALONE)]
    assert reported == ([(".", "error")] if profile == "policy" else [])
    assert report.verdict == ("rejected" if profile == "policy" else "accepted")
    assert [file.verdict for file in report.files] == ["pass"] * 3


def test_loose_logs_in_a_results_folder_get_a_note(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    other = tmp_path / "work" / "results" / "today"
    shutil.copytree(tree.root / tree.folder(), other)
    report = check(tmp_path / "work", round="5.1")
    assert [(f.path, f.severity) for f in of_rule(report, ALONE)] == [(".", "note")]
    assert check(tmp_path / "work", round="5.1", strict=True).verdict == "accepted"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Results", "results"),
        ("result", "results"),
        ("resutls", "results"),
        ("system", "systems"),
        ("Systems", "systems"),
        ("sytems", "systems"),
    ],
)
@pytest.mark.parametrize("place", ["itself", "its round", "two levels up", "inside"])
def test_a_misnamed_results_or_systems_folder_is_refused(
    name: str, part: str, place: str, tmp_path: Path
) -> None:
    tree = usual(tmp_path / "rounds" / "training_results_v5.1")
    (tree.root / part).rename(tree.root / name)
    path = {
        "itself": tree.root,
        "its round": tree.root.parent,
        "two levels up": tree.root.parent.parent,
        "inside": tree.root / ("results" if part == "systems" else name),
    }[place]
    done = podium("check", path)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"{tree.root.name}/{name} must be named {part}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert f"{name} must be named {part}" in podium("doctor", tree.root).stderr


def test_folders_with_similar_names_and_only_loose_logs_are_accepted(tmp_path: Path) -> None:
    log = build("training", "5.1", "closed", "llama31_8b").bytes()
    for folder in ("Results", "system", "results_old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "result_0.txt").write_bytes(log)
    report = check(tmp_path, round="5.1")
    assert len(report.files) == 3
    assert report.verdict == "accepted"


# --- submissions that are nested too deeply ---


def nested(report: Report) -> list[tuple[str, bool]]:
    return [(f.path, f.official) for f in of_rule(report, "tree.nested-submission")]


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_submission_that_is_nested_too_deeply_is_judged_and_reported(
    levels: int, tmp_path: Path
) -> None:
    top = tmp_path / "training_results_v5.1"
    tree = usual(top.joinpath(*["Acme"] * levels))
    (tree.root / tree.folder() / "result_1.txt").unlink()
    report = check(top)
    assert nested(report) == [(tree.root.relative_to(top).as_posix(), True)]
    assert [
        (each.submitter, each.verdict, each.official_verdict) for each in report.submissions
    ] == [("Acme", "rejected", "rejected")]
    assert (report.verdict, report.official_verdict) == ("rejected", "rejected")
    # It is judged as a submission, not as loose logs
    assert of_rule(report, "result.too-few-runs")
    assert f"({tree.root})" in podium("doctor", top / "Acme").stderr


def test_a_submission_in_a_folder_with_the_same_name_is_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path / "Acme")
    report = check(tree.root.parent, round="5.1")
    assert nested(report) == [("Acme", True)]
    assert report.official_verdict == "rejected"


def test_a_submission_in_a_subfolder_of_the_submitter_folder_is_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path / "training_results_v5.1" / "Acme")
    moved = tree.root.rename(tree.root.with_name("submission"))
    for path in (moved.parent, moved.parent.parent):
        report = check(path)
        assert nested(report) == [(moved.relative_to(path).as_posix(), True)]
        assert report.official_verdict == "rejected"
    assert nested(check(moved)) == []


def test_each_of_two_round_folders_is_judged_by_its_own_rules(tmp_path: Path) -> None:
    for name in ("training_results_v5.0", "training_results_v5.1"):
        usual(tmp_path / name)
    report = check(tmp_path)
    assert nested(report) == []
    assert [each.path for each in report.submissions] == [
        "training_results_v5.0/Acme",
        "training_results_v5.1/Acme",
    ]
    rounds = {each.round for each in report.files if each.kind == "log"}
    assert rounds == {"training 5.0", "training 5.1"}


def test_a_submitter_folder_without_systems_is_reported(tmp_path: Path) -> None:
    shutil.copytree(usual(tmp_path).root, tmp_path / "Bmce")
    undescribed(Submission(tmp_path, usual(tmp_path).which, "Bmce"))
    report = check(tmp_path, round="5.1")
    assert [entry.submitter for entry in report.submissions] == ["Acme"]
    assert [finding.path for finding in of_rule(report, ALONE)] == ["Bmce"]


def test_the_results_folder_of_a_submission_needs_no_systems_folder(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    assert of_rule(check(tree.root / "results", round="5.1"), ALONE) == []
    assert of_rule(check(tree.root, round="5.1"), ALONE) == []


@pytest.mark.corpus
def test_published_trees_of_0_5_and_0_6_are_found_as_submissions() -> None:
    first = check(CORPUS / "training_results_v0.5")
    assert {(e.submitter, e.path.rpartition("/")[2]) for e in first.submissions} == {
        ("intel", "intel_ncf_submission"),
        ("intel", "intel_resnet_submission"),
    }
    # The corpus contains only some of the hundred runs of NCF.
    verdicts = {result.benchmark: result.verdict for result in first.results}
    assert verdicts == {"ncf": "rejected", "resnet": "accepted"}
    assert [e.submitter for e in check(CORPUS / "training_results_v0.6/Alibaba").submissions] == [
        "Alibaba"
    ]


def test_a_link_next_to_submissions_is_reported_and_not_followed(tmp_path: Path) -> None:
    tree = usual(tmp_path / "round")
    (tmp_path / "round" / "again").symlink_to(tree.root)
    (tmp_path / "round" / "notes.txt").symlink_to("nowhere")
    report = check(tmp_path / "round", round="5.1")
    assert len(report.submissions) == 1
    [finding] = of_rule(report, "tree.linked-folder")
    assert (finding.path, finding.severity) == ("again", "warning")
    strict = check(tmp_path / "round", round="5.1", profile="verifier")
    assert of_rule(strict, "tree.linked-folder") == []
