"""`podium check --since REF`: only parts with changed files are judged; the rest is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import build
from tests.compliance.clones import alone, git
from tests.compliance.command_line import Done, podium
from tests.compliance.trees import Submission, usual

RESULT = "Acme/results/ex_n8/llama31_405b"
OTHER = "Acme/results/ex_n8/llama2_70b_lora"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A round of training 5.1 in a repository: two submitters, one of them with two results."""
    alone(tmp_path, monkeypatch)
    root = tmp_path / "training_results_v5.1"
    usual(root)
    Submission(root, build("training", "5.1", "closed", "llama2_70b_lora")).result(runs=2)
    other = usual(root)
    other.name = "Beta"
    # The times differ from the runs of Acme: equal runs are copies, which only a full check finds
    other.system().code().result(start=3)
    (root / ".gitignore").write_text("*.ignored\nresult_9.txt\n")
    (root / "README.md").write_text("A round.\n")
    git(tmp_path, "init", "-q", "-b", "main", root.name)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    monkeypatch.chdir(tmp_path)
    return root


def since(tree: Path, *options: object, ref: str = "HEAD") -> dict[str, Any]:
    done = podium("check", tree, "--since", ref, "--format", "json", *options)
    assert done.stderr == ""
    reported: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == bool(reported["rejected_by"])
    return reported


def logs(reported: dict[str, Any]) -> set[str]:
    return {str(Path(each["path"]).parent) for each in reported["files"] if each["kind"] == "log"}


def test_an_unchanged_tree_is_not_judged(tree: Path) -> None:
    reported = since(tree)
    assert (reported["verdict"], reported["files"], reported["findings"]) == ("accepted", [], [])
    assert reported["not_judged"] == "files that have not changed since HEAD (8 of 8 files)"
    assert (
        "not checked: files that have not changed"
        in podium("check", tree, "--since", "HEAD").stdout
    )


def test_the_result_of_a_changed_log_is_judged_as_in_a_full_check(tree: Path) -> None:
    path = tree / RESULT / "result_1.txt"
    path.write_text(path.read_text().replace("opt_base_learning_rate", "opt_other_rate"))
    reported = since(tree)
    assert logs(reported) == {RESULT}
    assert [each["path"] for each in reported["results"]] == [RESULT]
    assert reported["not_judged"].startswith(
        "files that have not changed since HEAD (5 of 8 files); the rest of the submission"
    )
    whole = json.loads(podium("check", tree, "--format", "json").stdout)
    own = [each for each in whole["findings"] if each["path"].startswith(RESULT)]
    assert own == [each for each in reported["findings"] if each["path"].startswith(RESULT)]
    assert reported["verdict"] == "rejected"


@pytest.mark.parametrize(
    ("changed", "judged", "submissions"),
    [
        ("Acme/systems/ex_n8.json", {RESULT, OTHER}, []),
        ("Acme/benchmarks/llama31_405b/README.md", {RESULT, OTHER}, ["Acme"]),
        (f"{OTHER}/package_checker_params", {OTHER}, []),
        ("Acme/results/ex_n8/package_checker_params", {RESULT, OTHER}, ["Acme"]),
        ("Acme/waivers.toml", {RESULT, OTHER}, ["Acme"]),
        ("Acme/notes.ignored", {RESULT, OTHER}, ["Acme"]),
        (f"{RESULT}/result_9.txt", {RESULT}, []),
        ("podium.toml", {RESULT, OTHER, RESULT.replace("Acme", "Beta")}, ["Acme", "Beta"]),
        ("README.md", set(), []),
        ("Gamma/result_0.txt", {"Gamma"}, []),
    ],
)
def test_a_changed_file_selects_the_results_that_it_belongs_to(
    changed: str, judged: set[str], submissions: list[str], tree: Path
) -> None:
    path = tree / changed
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as stream:
        stream.write("\n")
    reported = since(tree)
    assert logs(reported) == judged
    assert [each["path"] for each in reported["submissions"]] == submissions


def test_a_deleted_log_or_result_counts_as_a_change(tree: Path) -> None:
    (tree / RESULT / "result_1.txt").unlink()
    assert "result.too-few-runs" in {each["id"] for each in since(tree)["findings"]}
    for path in (tree / RESULT).iterdir():
        path.unlink()
    (tree / RESULT).rmdir()
    assert [each["path"] for each in since(tree)["submissions"]] == ["Acme"]


def test_a_commit_after_the_ref_counts_as_a_change(tree: Path) -> None:
    (tree / OTHER / "result_0.txt").write_text("nothing\n")
    git(tree, "commit", "-q", "-a", "-m", "worse")
    assert logs(since(tree)) == set()
    assert logs(since(tree, ref="HEAD~1")) == {OTHER}


def test_a_link_is_judged_if_its_target_changes(tree: Path) -> None:
    link = tree / OTHER / "result_1.txt"
    link.unlink()
    link.symlink_to("../llama31_405b/result_0.txt")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "a link")
    with (tree / RESULT / "result_0.txt").open("a") as stream:
        stream.write("\n")
    assert logs(since(tree)) == {RESULT, OTHER}


def test_a_changed_file_marked_assume_unchanged_is_judged(tree: Path) -> None:
    path = tree / RESULT / "result_0.txt"
    git(tree, "update-index", "--assume-unchanged", str(path))
    path.write_text("nothing\n")
    assert logs(since(tree)) == {RESULT}


def test_since_applies_to_a_part_of_a_round(tree: Path) -> None:
    path = tree / RESULT / "result_0.txt"
    path.write_text(path.read_text() + "\n")
    assert logs(since(tree / "Acme")) == {RESULT.removeprefix("Acme/")}
    assert logs(since(tree / "Beta")) == set()
    assert {each["path"] for each in since(tree / RESULT)["files"]} >= {"result_0.txt"}
    reported = since(path)
    assert [each["path"] for each in reported["files"]] == ["result_0.txt"]


def test_the_git_index_is_not_modified(tree: Path) -> None:
    (tree / "README.md").touch()
    index = (tree / ".git/index").read_bytes()
    since(tree)
    assert (tree / ".git/index").read_bytes() == index


def test_cache_entries_of_unchanged_files_are_kept(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    podium("check", tree, "--cache-dir", cache)
    (kept,) = (cache / "checks").iterdir()
    size = kept.stat().st_size
    path = tree / RESULT / "result_0.txt"
    path.write_text(path.read_text() + "\n")
    plain = since(tree)
    assert since(tree, "--cache-dir", cache) == plain
    assert kept.stat().st_size >= size - 100
    done = podium("check", tree, "--cache-dir", cache, "--format", "json")
    assert done == podium("check", tree, "--format", "json")


@pytest.mark.parametrize(
    ("ref", "reported"),
    [
        ("nowhere", "no such branch, tag or commit"),
        ("--help", "no such branch, tag or commit"),
        ("HEAD:README.md", "no such branch, tag or commit"),
    ],
)
def test_an_unknown_ref_is_refused(ref: str, reported: str, tree: Path) -> None:
    _refused(podium("check", tree, f"--since={ref}"), reported)


def test_a_path_outside_a_repository_is_refused(tree: Path, tmp_path: Path) -> None:
    usual(tmp_path / "plain")
    _refused(podium("check", tmp_path / "plain", "--since", "HEAD"), "needs a git repository")
    _refused(podium("check", tmp_path / "nowhere", "--since", "HEAD"), "no such file or folder")
    _refused(podium("check", "-", "--since", "HEAD"), "not standard input")


def _refused(done: Done, reported: str) -> None:
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert reported in done.stderr
