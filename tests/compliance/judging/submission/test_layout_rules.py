"""The layout of a submission by round, and files and folders that are not in their place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from mlperf_logging.benchmark_meta import get_allowed_benchmarks

from podium import check
from podium.compliance.judging.inputs.benchmark_names import (
    about_name,
    benchmark_called,
)
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.layout import Tree, natural
from podium.compliance.judging.inputs.tree_scan import scan
from podium.rules import rounds
from podium.rules.catalogue import find_round
from podium.rules.finding import StatedBy
from tests.compliance.trees import usual


def made(root: Path, *paths: str) -> Path:
    """Create empty files at these paths, and folders if a path ends in a slash."""
    for path in paths:
        if path.endswith("/"):
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
    return root


def scanned(root: Path, usage: str = "training", round_: str = "5.1") -> Tree:
    return scan(Package(root, ""), find_round(usage, round_))


def faults(tree: Tree) -> dict[str, str]:
    """The violated rule of each path."""
    return {finding.path: finding.id for finding in tree.misplaced}


# --- layouts ---


def test_training_results_are_below_their_system(tmp_path: Path) -> None:
    root = made(
        tmp_path / "Acme",
        "systems/a.json",
        "systems/notes.txt",
        "results/a/llama31_8b/result_0.txt",
        "results/a/llama31_8b/scaling.json",
        "results/a/llama31_8b/package_checker_params",
        "results/a/llama31_8b/power/result_0/node_0.txt",
        "results/a/package_checker_params",
        "results/a/privateid.json",
        "results/README.md",
        "benchmarks/",
    )
    tree = scanned(root)
    assert tree.submitter == "Acme"
    assert tree.systems == {"a": "systems/a.json"}
    [result] = tree.results
    assert (result.system, result.benchmark, result.scaling) == ("a", "llama31_8b", "strong")
    assert result.logs == ("results/a/llama31_8b/result_0.txt",)
    assert result.power
    assert result.unknown == ()
    assert tree.misplaced == []


@pytest.mark.parametrize("round_", ["1.0", "2.0", "3.0"])
def test_hpc_results_are_in_strong_and_weak(round_: str, tmp_path: Path) -> None:
    root = made(
        tmp_path,
        "results/a/strong/deepcam/result_0.txt",
        "results/a/weak/deepcam/result_0.txt",
        "results/a/weak/deepcam/pruned_results/result_5.txt",
        "results/a/weak/deepcam/pruned_results/notes.md",
    )
    strong, weak = scanned(root, "hpc", round_).results
    assert (strong.scaling, weak.scaling) == ("strong", "weak")
    assert weak.pruned == ("results/a/weak/deepcam/pruned_results/result_5.txt",)
    assert weak.unknown == ("pruned_results/notes.md",)


def test_hpc_0_7_has_the_layout_of_training(tmp_path: Path) -> None:
    root = made(tmp_path, "results/a/deepcam/result_0.txt")
    [result] = scanned(root, "hpc", "0.7").results
    assert result.path == "results/a/deepcam"
    assert not find_round("hpc", "0.7").package.scaling_folders


def test_only_throughput_results_may_have_pruned_results(tmp_path: Path) -> None:
    root = made(tmp_path, "results/a/strong/deepcam/pruned_results/result_0.txt")
    [result] = scanned(root, "hpc", "3.0").results
    assert (result.pruned, result.unknown) == ((), ("pruned_results",))


@pytest.mark.parametrize("name", ["mask", "maskrcnn", "ncf", "minigo", "resnet"])
@pytest.mark.parametrize("round_", ["0.5", "0.6"])
def test_rounds_0_5_and_0_6_accept_these_benchmark_names(
    name: str, round_: str, tmp_path: Path
) -> None:
    root = made(tmp_path, f"results/a/{name}/result_0.txt", "results/a/entry.json")
    tree = scanned(root, "training", round_)
    [result] = tree.results
    assert result.benchmark == {"mask": "maskrcnn"}.get(name, name)
    assert result.official is (name != "mask")
    assert tree.entries == {"a"}
    assert tree.misplaced == []


def test_logs_are_sorted_by_number(tmp_path: Path) -> None:
    names = [f"result_{number}.txt" for number in range(12)]
    root = made(tmp_path, *(f"results/a/llama31_8b/{name}" for name in reversed(names)))
    assert [Path(log).name for log in scanned(root).results[0].logs] == names
    assert natural(["b10", "b9", "b", "10", "9"]) == ["9", "10", "b", "b9", "b10"]


def test_a_folder_with_the_name_of_a_log_counts_as_a_log(tmp_path: Path) -> None:
    root = made(tmp_path, "results/a/llama31_8b/result_0.txt/")
    assert scanned(root).results[0].logs == ("results/a/llama31_8b/result_0.txt",)


# --- names of benchmarks ---


@pytest.mark.parametrize("which", list(rounds), ids=" ".join)
def test_benchmark_names_are_those_of_the_official_checker(which: tuple[str, str]) -> None:
    usage, name = which
    rules = find_round(usage, name)
    if rules.verified:
        assert {*rules.allowed} == {*get_allowed_benchmarks(usage, f"{name}.0")}
    assert all(benchmark_called(each, rules) == each for each in rules.allowed)


@pytest.mark.parametrize(
    ("name", "round_", "hint"),
    [
        ("llama31_8B", "5.1", "did you mean llama31_8b?"),
        ("lama31_8b", "5.1", "did you mean llama31_8b?"),
        ("ssd", "5.1", "did you mean retinanet?"),
        ("gnn", "5.0", "did you mean rgat?"),
        ("dlrm", "4.1", "did you mean dlrm_dcnv2?"),
        ("llama3", "5.1", "did you mean llama31_8b or llama31_405b?"),
        ("minigo", "5.1", "check that --round names the submission's round"),
        ("strong", "5.1", "only HPC results are in strong and weak; use --usage hpc"),
        ("xyz", "6.1", "must be one of llama2_70b_lora"),
    ],
)
def test_a_wrong_benchmark_name_is_reported_with_a_hint(name: str, round_: str, hint: str) -> None:
    why, given = about_name(name, find_round("training", round_))
    assert why.startswith(f"{name} is not a benchmark of training {round_}")
    assert given.startswith(hint)


# --- misplaced files and folders ---


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("results/result_0.txt", "tree.misplaced"),
        ("results/a/result_0.txt", "tree.misplaced"),
        ("results/a/lama31_8b/", "tree.unknown-benchmark"),
        ("results/notes.txt", "tree.unknown-file"),
        ("results/a/notes.txt", "tree.unknown-file"),
        ("results/a/entry.json", "tree.unknown-file"),
        ("measurements/", "tree.unknown-folder"),
    ],
)
def test_misplaced_files_of_training_are_reported(path: str, rule: str, tmp_path: Path) -> None:
    made(tmp_path, path)
    assert faults(scanned(tmp_path)) == {path.rstrip("/"): rule}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("results/a/result_0.txt", "tree.misplaced"),
        ("results/a/strong/result_0.txt", "tree.misplaced"),
        ("results/a/medium/", "tree.misplaced"),
        ("results/a/deepcam/", "tree.misplaced"),
        ("results/a/weak/deepcm/", "tree.unknown-benchmark"),
        ("results/a/weak/notes.txt", "tree.unknown-file"),
    ],
)
def test_misplaced_files_of_hpc_are_reported(path: str, rule: str, tmp_path: Path) -> None:
    made(tmp_path, path)
    assert faults(scanned(tmp_path, "hpc", "3.0")) == {path.rstrip("/"): rule}


@pytest.mark.parametrize(("inside", "official"), [("", False), ("deepcam/", True)])
def test_only_a_benchmark_in_another_scaling_folder_is_an_error(
    inside: str, official: bool, tmp_path: Path
) -> None:
    made(tmp_path, f"results/a/medium/{inside}")
    [finding] = scanned(tmp_path, "hpc", "3.0").misplaced
    assert (finding.stated_by is StatedBy.BOTH) is official
    assert finding.severity == ("error" if official else "warning")


# --- links and unreadable folders ---


@pytest.mark.parametrize("target", ["..", "/", "."])
def test_links_to_folders_are_reported_and_not_followed(target: str, tmp_path: Path) -> None:
    made(tmp_path, "results/a/llama31_8b/result_0.txt")
    os.symlink(target, tmp_path / "results/loop")
    os.symlink(target, tmp_path / "results/a/llama31_8b/loop")
    tree = scanned(tmp_path)
    assert faults(tree) == {
        "results/loop": "tree.linked-folder",
        "results/a/llama31_8b/loop": "tree.linked-folder",
    }
    assert len(tree.results) == 1


def test_a_link_to_itself_is_reported_as_an_unknown_file(tmp_path: Path) -> None:
    made(tmp_path, "results/a/")
    os.symlink("self", tmp_path / "results/a/self")
    assert faults(scanned(tmp_path)) == {"results/a/self": "tree.unknown-file"}


def test_an_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, "results/a/llama31_8b/result_0.txt", "results/b/llama31_8b/result_0.txt")
    listed = os.scandir

    def refusing(folder: Any) -> Any:
        if str(folder).endswith("results/a"):
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    tree = scanned(tmp_path)
    assert faults(tree) == {"results/a": "tree.unreadable"}
    assert [result.system for result in tree.results] == ["b"]


def test_a_missing_folder_has_no_results(tmp_path: Path) -> None:
    tree = scanned(tmp_path / "nowhere")
    assert (tree.results, tree.misplaced, tree.systems) == ([], [], {})


def test_paths_are_shown_with_the_prefix_of_the_submission(tmp_path: Path) -> None:
    rules = find_round("training", "5.1")
    assert scan(Package(tmp_path, ""), rules).place("results/a") == "results/a"
    assert scan(Package(tmp_path, "Acme"), rules).place("results/a") == "Acme/results/a"


# --- descriptions with other names ---


@pytest.mark.parametrize(
    ("renamed", "advice"),
    [
        ("ex_n8_", "rename systems/ex_n8_.json, which describes a system without results, or"),
        ("other", "rename systems/other.json, which describes a system without results, or"),
        ("", "run `podium system init systems/ex_n8.json` on the system"),
    ],
)
def test_a_misnamed_or_missing_description_gets_a_hint(
    renamed: str, advice: str, tmp_path: Path
) -> None:
    root = usual(tmp_path).root
    path = root / "systems" / "ex_n8.json"
    if renamed:
        path.rename(path.with_name(f"{renamed}.json"))
    else:
        path.unlink()
    found = [e for e in check(root, round="5.1").findings if e.id == "tree.no-system-description"]
    assert [each.hint[: len(advice)] for each in found] == [advice]


def test_swapped_system_and_benchmark_folders_are_reported(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    results = tree.root / "results"
    (results / "llama31_405b").mkdir()
    (results / "ex_n8/llama31_405b").rename(results / "llama31_405b/ex_n8")
    (results / "ex_n8").rmdir()
    [finding] = tree.found("tree.no-system-description")
    assert finding.hint == (
        "the levels are swapped: move results/llama31_405b/ex_n8 to results/ex_n8/llama31_405b"
    )
    for rule in ("tree.unknown-benchmark", "tree.system-without-results"):
        [finding] = tree.found(rule)
        assert finding.caused_by == "tree.no-system-description"


def test_a_submitter_that_differs_only_in_case_is_a_note(tmp_path: Path) -> None:
    tree = usual(tmp_path).system(submitter="ACME")
    [finding] = tree.found("system.name-mismatch")
    assert (finding.severity, finding.line) == ("note", 2)
    assert finding.message == "`submitter` is 'ACME'; the submission's folder is 'Acme'"
    assert tree.check().verdict == "accepted"
