"""`podium bundle` refuses a tree without results and names the packed tree to bundle instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.compliance.command_line import podium
from tests.compliance.trees import usual


@pytest.fixture
def skeleton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    done = podium("init", "Acme", "--submitter", "Acme", "--round", "5.1")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "Acme"


def test_a_skeleton_is_refused_with_a_hint_to_run_pack(skeleton: Path) -> None:
    done = podium("bundle", "Acme", "Acme.tar.zst")
    assert done.exit_code == 1
    assert done.stderr.startswith(
        "podium: Acme has no results; run `podium pack Acme` first, then bundle"
    )
    assert done.stderr.count("\n") == 1
    assert os.listdir(skeleton.parent) == ["Acme"]


def test_the_packed_tree_is_suggested_and_can_be_bundled(skeleton: Path) -> None:
    config = (skeleton / "podium.toml").read_text()
    (skeleton / "podium.toml").write_text(f'into = "../out"\n{_without(config, "into")}')
    usual(skeleton.parent / "out")
    done = podium("bundle", "Acme", "Acme.tar.zst")
    assert done.exit_code == 1
    assert "bundle the packed tree instead: out/Acme" in done.stderr
    assert podium("bundle", "out/Acme", "Acme.tar.zst").exit_code == 0


def _without(config: str, field: str) -> str:
    return "\n".join(line for line in config.splitlines() if not line.startswith(field))


def test_a_submission_without_logs_is_refused(tmp_path: Path) -> None:
    tree = usual(tmp_path)
    for log in (tree.root / tree.folder()).glob("result_*.txt"):
        log.unlink()
    done = podium("bundle", tree.root, tmp_path / "Acme.tar.zst")
    assert done.exit_code == 1
    assert "put logs into results/<system>/<benchmark>" in done.stderr


def test_a_folder_that_is_not_a_submission_is_bundled(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.txt").write_text("a\n")
    assert podium("bundle", tmp_path / "logs", tmp_path / "logs.tar.zst").exit_code == 0
