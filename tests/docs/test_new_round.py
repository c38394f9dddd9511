"""The pages on a new round, followed on a copy of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compliance.tools.drift.upstream import Release
from tests.docs.pages import Copy, blocks, copied
from tests.locations import ROOT

PAGES = ("new_round.md", "new_round_points.md")

pytestmark = pytest.mark.long  # the page's commands take most of a minute


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The copy of the repository after both pages were followed."""
    copy = copied(tmp_path_factory.mktemp("repository"))
    # This replaces the release that the page installs, because round 6.2 does not exist
    Release(copy.root / "official").add_round("6.2")
    for page in PAGES:
        copy.follow(page)
    return copy


@pytest.fixture(params=["ocean_small", "llama31_8b"])
def log(request: pytest.FixtureRequest, repository: Copy, tmp_path: Path) -> Path:
    """A log that obeys the tables of the new round."""
    path = tmp_path / "result_0.txt"
    code = "import sys; from pathlib import Path; from tests.builders import build; "
    code += "build('training', '6.2', 'closed', sys.argv[1]).write(Path(sys.argv[2]))"
    environment = os.environ | {"PYTHONPATH": f"{repository.root / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", code, request.param, str(path)]
    subprocess.run(command, check=True, cwd=repository.root, env=environment)
    return path


def test_a_log_is_checked_by_the_new_round_and_accepted(repository: Copy, log: Path) -> None:
    done = repository.podium("check", str(log), "--format", "json")
    report = json.loads(done.stdout)
    assert report["rules"]["round"] == "6.2"
    assert (report["verdict"], report["findings"]) == ("accepted", [])


def test_the_new_target_applies_in_the_new_round_only(repository: Copy, log: Path) -> None:
    lines = log.read_text().splitlines()
    for number, line in enumerate(lines):
        if '"key": "eval_accuracy"' in line:
            record = json.loads(line.partition(" ")[2]) | {"value": 3.25}
            lines[number] = f":::MLLOG {json.dumps(record)}"
    log.write_text("\n".join(lines) + "\n")
    old = repository.podium("check", str(log), "--round", "6.1", "--format", "json")
    new = repository.podium("check", str(log), "--round", "6.2", "--format", "json")
    missed = [f["id"] for f in json.loads(new.stdout)["findings"] if f["id"].endswith(".target")]
    assert len(missed) == 1
    assert missed[0] not in {f["id"] for f in json.loads(old.stdout)["findings"]}


def test_rules_diff_lists_the_changed_benchmarks(repository: Copy) -> None:
    done = repository.podium("rules", "diff", "6.1", "6.2", "--format", "json")
    benchmarks = {
        (each["what"], each["name"])
        for each in json.loads(done.stdout)["differences"]
        if each["group"] == "benchmarks"
    }
    assert {name for _, name in benchmarks} >= {"flux1", "ocean_small"}


def test_every_benchmark_of_the_round_has_reference_points(repository: Copy) -> None:
    code = """
from podium.rules.catalogue import find_round
from podium.rules.convergence.data import points_of
rules = find_round("training", "6.2")
print(*(name for name in rules.benchmarks if not points_of("training", "6.2", name)))
"""
    done = repository.run(sys.executable, "-c", code)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_ruff_accepts_the_new_files(repository: Copy) -> None:
    for block in (block for page in PAGES for block in blocks(page)):
        if block.language == "python":
            words = ["ruff", "check", "--config", str(ROOT / "pyproject.toml"), block.path]
            done = repository.run(sys.executable, "-m", *words)
            assert done.returncode == 0, done.stdout
            words = ["ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml")]
            assert repository.run(sys.executable, "-m", *words, block.path).returncode == 0
