"""The hooks, run by pre-commit from a clone of podium in the repository of a submission."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.compliance.trees import Submission, usual
from tests.locations import ROOT

pytestmark = pytest.mark.long

BUILT_OF = (
    *("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "docs/podium.1"),
    *("src", "compliance", "logging_spec", "rules", "reference_runs"),
)
WHO = ("-c", "user.name=Acme", "-c", "user.email=acme@example.org")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *WHO, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def committed(folder: Path) -> str:
    """Commit all files and return the commit."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "all")
    return git(folder, "rev-parse", "HEAD")


class Hooks(NamedTuple):
    """A repository of podium, as users clone it, and the cache folder of pre-commit."""

    podium: Path
    commit: str
    home: Path

    def run(self, tree: Submission, hook: str, *words: str) -> tuple[int, str]:
        """Run a hook on all files of a submission and return its exit status and output."""
        given = {"id": hook, "args": [*words]} if words else {"id": hook}
        repository = {"repo": f"file://{self.podium}", "rev": self.commit, "hooks": [given]}
        # The round's repository has this file: names in a submission may not begin with a dot
        root = tree.root.parent
        config = root / ".pre-commit-config.yaml"
        config.write_text(yaml.safe_dump({"repos": [repository]}))
        committed(root)
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            # Nothing is downloaded: podium's dependencies come from the environment of the tests
            env={
                **os.environ,
                "PRE_COMMIT_HOME": str(self.home),
                "PYTHONPATH": sysconfig.get_path("purelib"),
                "PIP_NO_INDEX": "1",
                "PIP_NO_DEPS": "1",
                "PIP_NO_BUILD_ISOLATION": "0",  # for pip, 0 means without isolation
                "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            },
        )
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Hooks:
    podium = tmp_path_factory.mktemp("podium")
    for name in BUILT_OF:
        source, target = ROOT / name, podium / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, symlinks=True, ignore=ignored)
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
    return Hooks(podium, committed(podium), tmp_path_factory.mktemp("home"))


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    return usual(tmp_path / "round")


def without_an_end(tree: Submission) -> None:
    tree.log(2, lambda log: log.drop("run_stop"))


def with_a_wrong_status(tree: Submission) -> None:
    path = tree.root / "systems/ex_n8.json"
    path.write_text(path.read_text().replace('"status"', '"state"'))


def with_junk(tree: Submission) -> None:
    (tree.root / "results/ex_n8/.DS_Store").write_bytes(b"junk")


@pytest.mark.parametrize(
    ("hook", "words", "harm", "said"),
    [
        ("podium-check", (".", "--round", "5.1"), without_an_end, "result_2.txt"),
        ("podium-system-check", ("--round", "5.1"), with_a_wrong_status, "systems/ex_n8.json"),
    ],
)
def test_a_hook_passes_a_good_file_and_reports_a_bad_file(
    hook: str,
    words: tuple[str, ...],
    harm: Callable[[Submission], None],
    said: str,
    hooks: Hooks,
    tree: Submission,
) -> None:
    status, output = hooks.run(tree, hook, *words)
    assert status == 0, output
    assert "Passed" in output
    harm(tree)
    status, output = hooks.run(tree, hook, *words)
    assert status == 1, output
    assert "Failed" in output
    assert said in output
    assert "Traceback" not in output


def test_the_fix_hook_reports_that_it_modified_files(hooks: Hooks, tree: Submission) -> None:
    (tree.root.parent / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\n')
    hooks.run(tree, "podium-fix")
    with_junk(tree)
    status, output = hooks.run(tree, "podium-fix")
    assert status == 1, output
    assert "files were modified by this hook" in output
    assert not (tree.root / "results/ex_n8/.DS_Store").exists()
    status, output = hooks.run(tree, "podium-fix")
    assert status == 0, output
