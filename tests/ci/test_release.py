"""The requirements for the commit of a release, and the workflows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.locations import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clean commit with the script, a version and a changelog entry for it."""
    for name in (".ci/release.py", "compliance/version.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / "compliance/version.py").write_text('VERSION = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 - 2026-11-24\n\n- Faster.\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Release 1.2.3")
    git(tmp_path, "tag", "v1.2.3")
    return tmp_path


def git(place: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *words], cwd=place, check=True)


def refused(place: Path) -> str:
    """Run the script, which must fail, and return its standard error."""
    done = subprocess.run(
        [sys.executable, ".ci/release.py", "--output", str(place / "dist")],
        cwd=place,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert not (place / "dist").exists()
    return done.stderr


def test_a_commit_without_the_versions_tag_is_not_released(repository: Path) -> None:
    git(repository, "tag", "--delete", "v1.2.3")
    git(repository, "tag", "v1.2.2")
    assert "the commit has no tag v1.2.3; it has v1.2.2" in refused(repository)


def test_an_uncommitted_change_is_not_released(repository: Path) -> None:
    (repository / "more.py").touch()
    assert "changes that are not committed" in refused(repository)


@pytest.mark.parametrize("heading", ["## Unreleased", "## 1.2.3", "## 1.2.30 - 2026-11-24"])
def test_a_version_without_a_dated_changelog_section_is_not_released(
    repository: Path, heading: str
) -> None:
    (repository / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\n- Faster.\n")
    git(repository, "commit", "--quiet", "--all", "--amend", "--message", "Release 1.2.3")
    git(repository, "tag", "--force", "v1.2.3")
    assert "CHANGELOG.md has no section `## 1.2.3 - YYYY-MM-DD`" in refused(repository)


def test_a_valid_commit_reaches_the_build(repository: Path) -> None:
    # The repository has nothing to build, so the build fails after all checks have passed
    assert "-m build" in refused(repository)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_existing_make_targets(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    called = {
        target
        for job in jobs.values()
        for step in job["steps"]
        if step.get("run", "").startswith("make ")
        for target in step["run"].split()[1:]
        if "=" not in target
    }
    assert called
    assert called <= {*made}


USERS = (*WORKFLOWS, ROOT / "action.yml", ROOT / "docs/ci.md")
USES = re.compile(r"uses: (\S+)(.*)")
OWN = "OWNER/podium@COMMIT"
"""The name of podium's action in the documentation."""


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(path: Path) -> None:
    found = USES.findall(path.read_text(encoding="utf-8"))
    assert found
    for action, rest in found:
        if action == OWN:
            continue
        assert re.fullmatch(r"[\w-]+(/[\w-]+)+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r"  # v\d+\.\d+\.\d+", rest), f"{action} has no version beside it"


def test_an_action_is_pinned_to_the_same_commit_everywhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in USERS]
    found = {action for text in texts for action, _ in USES.findall(text)}
    assert len(found) == len({action.partition("@")[0] for action in found})


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_has_minimal_write_permissions(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        permissions = job.get("permissions", {})
        writing = {each for each, access in permissions.items() if access == "write"}
        # A job that edits the release page cannot sign, and a job that signs cannot edit the page
        assert writing in (set(), {"contents"}, {"id-token"}, {"id-token", "attestations"}), name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert not writing
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_installs_locked_packages_only(path: Path) -> None:
    made = re.findall(r"run: (make .+)", path.read_text(encoding="utf-8"))
    assert made
    assert all("LOCKED=1" in line for line in made)


def test_every_supported_python_is_in_the_ci_matrix_and_the_release_script() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == named
    script = (ROOT / ".ci/release.py").read_text(encoding="utf-8")
    assert all(f'"{each}"' in script for each in named)
