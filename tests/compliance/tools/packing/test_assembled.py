"""`check`, `doctor`, `score` and `rcp check` of a folder whose podium.toml names the results."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.judging.inputs.boundary import VARIABLE
from tests.compliance.command_line import podium
from tests.compliance.packs import Loose, files_in
from tests.compliance.trees import usual


@pytest.fixture
def loose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loose:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return Loose(tmp_path)


def test_named_results_are_judged_like_the_packed_tree(loose: Loose) -> None:
    before = files_in(loose.work)
    done = podium("check", loose.work, "--format", "json")
    assert files_in(loose.work) == before
    assert list((loose.place / "temporary").iterdir()) == []
    assert done.exit_code == Exit.CLEAN
    assert podium("pack", loose.work).exit_code == Exit.CLEAN
    packed = podium("check", loose.work / "packed/Acme", "--format", "json")
    ours, theirs = json.loads(done.stdout), json.loads(packed.stdout)
    for name in ("verdict", "official_verdict", "counts", "results", "findings"):
        assert ours[name] == theirs[name]
    assert ours["base"] == str(loose.work)


def test_findings_have_paths_below_the_given_folder(loose: Loose) -> None:
    for log in loose.work.rglob("*.log"):
        log.write_bytes(log.read_bytes().replace(b'"adamw"', b'"sgd"'))
    done = podium("check", loose.work)
    assert done.exit_code == Exit.FOUND
    assert "podium-assembled" not in done.output
    # Long paths continue on the next line
    whole = "".join(done.stdout.split())
    assert f"{loose.work}/results/ex_n8/llama31_405b/result_0.txt" in whole
    assert "podium.toml names the results; checking the packed tree" in done.stderr


@pytest.mark.parametrize("command", ["check", "doctor"])
def test_a_log_that_the_plan_refuses_is_reported(command: str, loose: Loose) -> None:
    log = next(loose.work.rglob("*.log"))
    log.write_bytes(log.read_bytes().replace(b'"adamw"', b'"sgd"'))
    done = podium(command, loose.work, columns=200)
    assert done.exit_code == Exit.FOUND
    name = log.relative_to(loose.work)
    why = "hyperparameters differ from the 2 chosen runs: opt_name"
    assert f"{name} is left out: {why}" in done.output


def test_named_results_are_scored(loose: Loose) -> None:
    done = podium("score", loose.work, "--explain", "llama31_405b")
    assert done.exit_code == Exit.CLEAN
    assert "Acme / ex_n8 (closed, training 5.1): llama31_405b" in done.stdout
    assert "PASS" in podium("rcp", "check", loose.work).stdout
    refused = podium("score", loose.work, "--write-scaling")
    assert refused.exit_code == Exit.USAGE
    assert "run podium pack first" in refused.stderr


def test_the_doctor_examines_the_named_results(loose: Loose) -> None:
    done = podium("doctor", loose.work)
    assert done.exit_code == Exit.CLEAN
    assert f"$ podium pack {loose.work}" in done.stdout
    assert "nothing to check yet" not in done.stdout


@pytest.mark.parametrize("command", ["check", "score", "doctor"])
def test_a_glob_without_matches_is_reported(command: str, loose: Loose) -> None:
    loose.fields["results"][0]["logs"] = ["elsewhere/*.log"]
    loose.configure()
    done = podium(command, loose.work, columns=200)
    assert done.exit_code == (Exit.FOUND if command == "doctor" else Exit.USAGE)
    assert "results/ex_n8/llama31_405b: no log matches elsewhere/*.log" in done.output
    assert f"podium pack {loose.work} --dry-run" in done.output


def test_a_cache_of_the_assembled_tree_is_refused(loose: Loose) -> None:
    done = podium("check", loose.work, "--cache-dir", loose.place / "kept")
    assert done.exit_code == Exit.USAGE
    assert "run podium pack first" in done.stderr


def test_a_tree_with_logs_ignores_the_results_in_podium_toml(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    tree.write(
        "podium.toml",
        'submitter = "Acme"\nround = "5.1"\n[[results]]\nsystem = "other"\n'
        'benchmark = "llama31_405b"\nlogs = ["nowhere/*"]\n',
    )
    assert podium("check", tree.root).exit_code == Exit.CLEAN


def test_named_files_are_not_read_within_a_boundary(
    loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(loose.work))
    done = podium("check", loose.work)
    assert done.exit_code == Exit.USAGE
    assert "nothing to check" in done.stderr


@pytest.mark.parametrize(
    "fields",
    [
        {"systems": {"ex_n8": "../elsewhere/sys.json"}},
        {"code": [{"benchmark": "llama31_405b", "folder": "../elsewhere"}]},
        {"documents": {"a": "../elsewhere/sys.json"}},
    ],
)
@pytest.mark.parametrize("command", ["check", "doctor", "score"])
def test_a_file_outside_the_folder_is_not_read(
    command: str, fields: dict[str, Any], loose: Loose
) -> None:
    (loose.place / "elsewhere").mkdir()
    (loose.place / "elsewhere/sys.json").write_bytes((loose.work / "sys.json").read_bytes())
    loose.configure(**fields)
    done = podium(command, loose.work)
    assert done.exit_code == Exit.USAGE
    assert "names ../elsewhere" in done.stderr
    assert loose.pack("--dry-run") == Exit.CLEAN


def test_a_link_to_a_file_outside_the_folder_is_not_read(loose: Loose) -> None:
    log = next(loose.work.rglob("*.log"))
    moved = log.rename(loose.place / "moved.log")
    log.symlink_to(moved)
    done = podium("check", loose.work)
    assert done.exit_code == Exit.USAGE
    assert "which is outside its folder and outside the working directory" in done.stderr


def test_files_in_the_working_directory_are_read(
    loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    (loose.work / "runs").rename(loose.place / "runs")
    loose.result(logs=["../runs/**/*.log"])
    assert podium("check", loose.work).exit_code == Exit.USAGE
    monkeypatch.chdir(loose.place)
    assert podium("check", "work").exit_code == Exit.CLEAN
