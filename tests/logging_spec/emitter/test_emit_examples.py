"""The examples of the documentation run, and log what the documentation states."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from podium.logging_spec import read_log
from tests.locations import ROOT

_EXAMPLES = ROOT / "docs" / "examples"


def run(name: str, *arguments: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, _EXAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | variables,
    )
    assert done.stderr == ""
    return done.stdout


def test_the_loop_example_writes_a_compliant_log(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_text(run("loop.py"))
    done = subprocess.run(
        [sys.executable, "-m", "podium", "check", path, "--round=6.1", "--format=json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    report = json.loads(done.stdout)
    assert report["findings"] == []
    assert report["verdict"] == "accepted"


def test_the_migration_example_prints_the_lines_that_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    printed = run("migrate.py", path)
    assert printed == path.read_text()
    log = read_log(path)
    assert [record.key for record in log.records][0::5] == ["submission_benchmark", "run_stop"]
    assert {record.namespace for record in log.records} == {"worker0"}
    assert {record.metadata["file"] for record in log.records} == {"migrate.py"}


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"])
def test_only_one_of_several_ranks_writes(tmp_path: Path, variable: str) -> None:
    path = tmp_path / "a.txt"
    printed = [run("multi_node.py", path, **{variable: str(rank)}) for rank in range(3)]
    assert [text.count(":::MLLOG") for text in printed] == [7, 0, 0]
    assert [f"rank {rank} trains" in text for rank, text in enumerate(printed)] == [True] * 3
    keys = [record.key for record in read_log(path).records]
    assert keys == [
        *("run_start", "block_start", "block_stop"),
        *("eval_start", "eval_accuracy", "eval_stop", "run_stop"),
    ]


def test_the_guide_shows_only_existing_names() -> None:
    from podium.logging_spec.emitter import emit

    guide = (ROOT / "docs" / "emitter.md").read_text()
    for name in set(re.findall(r"\blog\.(\w+)\(", guide)):
        assert callable(getattr(emit.Logger, name))
    for name in re.findall(r"examples/(\w+\.py)", guide):
        assert (_EXAMPLES / name).is_file()
