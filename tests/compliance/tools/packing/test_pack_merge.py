"""`podium pack --merge`: the union of partial trees, with every conflict reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from podium.compliance.tools.packing.planning.building import make_plan
from podium.compliance.tools.packing.planning.config import PackConfig
from podium.rules.catalogue import find_round
from tests.compliance.packs import RESULT, files_in, write_config
from tests.compliance.trees import Submission, usual


@pytest.fixture
def whole(tmp_path: Path) -> Submission:
    return usual(tmp_path / "whole")


def part(whole: Submission, place: Path, *wanted: str) -> Path:
    """Copy the files of a submission that one team has."""
    for path in files_in(whole.root):
        if path.startswith(wanted):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole.root / path, place / path)
    return place


def merge(place: Path, *trees: Path, options: tuple[str, ...] = ()) -> int:
    fields = {"submitter": "Acme", "round": "5.1", "merge": [str(tree) for tree in trees]}
    write_config(place / "podium.toml", fields)
    return run(["pack", str(place), *options])


def test_the_parts_of_several_teams_are_merged(whole: Submission, tmp_path: Path) -> None:
    first = part(whole, tmp_path / "a", "results", "systems")
    second = part(whole, tmp_path / "b/Acme", "benchmarks")
    assert merge(tmp_path, first, second.parent) == Exit.CLEAN
    assert files_in(tmp_path / "packed/Acme") == files_in(whole.root)


def test_identical_files_are_merged(whole: Submission, tmp_path: Path) -> None:
    first = part(whole, tmp_path / "a", "results", "systems")
    second = part(whole, tmp_path / "b", "systems", "benchmarks")
    assert merge(tmp_path, first, second) == Exit.CLEAN
    assert files_in(tmp_path / "packed/Acme") == files_in(whole.root)


def test_different_files_with_the_same_path_are_a_conflict(
    whole: Submission, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = part(whole, tmp_path / "a", "results", "systems")
    second = part(whole, tmp_path / "b", "systems", "benchmarks")
    (second / "systems/ex_n8.json").write_text("{}")
    for trees in ((first, second), (second, first)):
        assert merge(tmp_path, *trees, options=("--force", "--replace", ".")) == Exit.FOUND
        out = " ".join(capsys.readouterr().out.split())
        assert "Conflicts: 1" in out
        assert "systems/ex_n8.json: " in out
        assert "differ; remove one of them" in out
        assert not (tmp_path / "packed").exists()


def test_a_file_in_place_of_a_folder_is_a_conflict(
    whole: Submission, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = part(whole, tmp_path / "a", "results", "systems", "benchmarks")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/results").write_text("a file")
    assert merge(tmp_path, first, tmp_path / "b") == Exit.FOUND
    assert "needs a folder with this name" in " ".join(capsys.readouterr().out.split())
    assert not (tmp_path / "packed").exists()


def test_a_tree_is_merged_with_loose_logs(whole: Submission, tmp_path: Path) -> None:
    rest = part(whole, tmp_path / "a", "systems", "benchmarks")
    logs = part(whole, tmp_path / "b", "results")
    fields = {
        "submitter": "Acme",
        "round": "5.1",
        "merge": [str(rest)],
        "results": [{"system": "ex_n8", "benchmark": "llama31_405b", "logs": ["b/**/*.txt"]}],
    }
    write_config(tmp_path / "podium.toml", fields)
    assert run(["pack", str(tmp_path)]) == Exit.CLEAN
    assert files_in(tmp_path / "packed/Acme") == files_in(whole.root)
    assert logs.is_dir()


def test_podium_files_and_hidden_files_are_not_merged(whole: Submission, tmp_path: Path) -> None:
    tree = part(whole, tmp_path / "a", "results", "systems", "benchmarks")
    for name in ("podium.toml", "podium-receipt.json", ".hidden", f"{RESULT}/.swp"):
        (tree / name).write_text("x")
    assert merge(tmp_path, tree) == Exit.CLEAN
    assert files_in(tmp_path / "packed/Acme") == files_in(whole.root)


names = st.sampled_from(["systems/a.json", "README.md", "documentation/x.md", "documentation/y"])
trees = st.lists(st.dictionaries(names, st.sampled_from(["one", "two"])), max_size=3)


@given(trees)
def test_a_merge_is_the_union_or_a_conflict_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, made: list[dict[str, str]]
) -> None:
    base = tmp_path_factory.mktemp("merge")
    for number, files in enumerate(made):
        (base / str(number)).mkdir()
        for path, text in files.items():
            (base / str(number) / path).parent.mkdir(parents=True, exist_ok=True)
            (base / str(number) / path).write_text(text)
    contents = {
        path: {files[path] for files in made if path in files} for files in made for path in files
    }
    order = [str(number) for number in range(len(made))]
    for merged in (order, order[::-1]):
        config = PackConfig(submitter="Acme", round="5.1", merge=merged)
        plan = make_plan(config, find_round("training", "5.1"), base)
        assert set(plan.entries) == set(contents)
        assert {each.path for each in plan.conflicts} == {
            path for path, texts in contents.items() if len(texts) > 1
        }
