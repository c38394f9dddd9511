"""The check script of the GitHub action, and the other CI files that call podium."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from tests.compliance.trees import Submission, usual
from tests.locations import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
RESULT = "results/ex_n8/llama31_405b"


class Job:
    """A CI job with its temporary folder, summary and SARIF file."""

    def __init__(self, place: Path) -> None:
        self.place = place
        programs = place / "bin"
        programs.mkdir(parents=True)
        command = programs / "podium"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m podium "$@"\n')
        command.chmod(0o755)
        self.summary, self.sarif = place / "summary.md", place / "podium.sarif"

    def run(self, tree: Submission, **given: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PODIUM_PATH": tree.root.name,
            "PODIUM_ROUND": "5.1",
            "PODIUM_SUMMARY": str(self.summary),
            "PODIUM_SARIF": str(self.sarif),
        }
        path = f"{self.place / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", str(ROOT / ".ci/check.sh")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tree.root.parent,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), **variables, **given},
        )


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "runner")


@pytest.fixture
def tree(tmp_path: Path) -> Submission:
    return usual(tmp_path)


def with_error(tree: Submission) -> None:
    tree.log(2, lambda log: log.drop("run_stop"))


def with_warning(tree: Submission) -> None:
    path = tree.root / "systems/ex_n8.json"
    fields = json.loads(path.read_text()) | {"host_memory_capacity": "lots"}
    path.write_text(json.dumps(fields, indent=2))


def annotated(output: str) -> list[Path]:
    return [Path(path) for path in re.findall(r"(?m)^::\w+ file=([^,:]+)", output)]


def test_a_good_submission_passes(job: Job, tree: Submission) -> None:
    done = job.run(tree)
    assert (done.returncode, done.stderr) == (Exit.CLEAN, "")
    assert "accepted" in job.summary.read_text().lower()
    assert json.loads(job.sarif.read_text())["version"] == "2.1.0"


def test_an_error_is_annotated_in_an_existing_file(job: Job, tree: Submission) -> None:
    with_error(tree)
    job.summary.write_text("before\n")
    done = job.run(tree)
    assert done.returncode == Exit.FOUND
    assert f"::error file={tree.root.name}/{RESULT}/result_2.txt" in done.stdout
    assert all((tree.root.parent / path).exists() for path in annotated(done.stdout))
    summary = job.summary.read_text()
    assert summary.startswith("before\n")
    assert "common.run_stop" in summary
    [sarif] = json.loads(job.sarif.read_text())["runs"]
    assert "common.run_stop" in {result["ruleId"] for result in sarif["results"]}


@pytest.mark.parametrize(
    ("fail_on", "damage", "status"),
    [
        ("error", with_warning, Exit.CLEAN),
        ("warning", with_warning, Exit.FOUND),
        ("never", with_error, Exit.CLEAN),
    ],
)
def test_fail_on_selects_the_severity_that_fails(
    job: Job, tree: Submission, fail_on: str, damage: Any, status: Exit
) -> None:
    damage(tree)
    assert job.run(tree, PODIUM_FAIL_ON=fail_on).returncode == status


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"PODIUM_PATH": "nowhere"}, "nowhere"),
        ({"PODIUM_PATH": "-x"}, "-x"),
        ({"PODIUM_ROUND": "5.9"}, "5.9"),
        ({"PODIUM_ROUND": "5.1; touch evil"}, "5.1; touch evil"),
        ({"PODIUM_FAIL_ON": "always"}, "expected error, warning or never"),
        ({"PODIUM_FAIL_ON": "never", "PODIUM_PATH": "nowhere"}, "nowhere"),
    ],
)
def test_invalid_input_fails_without_a_report(
    job: Job, tree: Submission, given: dict[str, str], words: str
) -> None:
    done = job.run(tree, **given)
    assert done.returncode == Exit.USAGE
    assert words in " ".join(done.stderr.split())
    assert not job.summary.exists()
    assert not job.sarif.exists()
    assert not (tree.root.parent / "evil").exists()


def test_the_action_passes_inputs_in_variables_that_the_script_reads() -> None:
    steps = ACTION["runs"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    assert not any("inputs." in script for script in scripts), "an input could hold commands"
    [check] = [step for step in steps if step.get("id") == "check"]
    given = {re.fullmatch(r"\$\{\{ inputs\.(.+) \}\}", each)[1] for each in check["env"].values()}  # type: ignore[index]
    assert given | {"python-version"} == set(ACTION["inputs"])
    script = (ROOT / ".ci/check.sh").read_text(encoding="utf-8")
    exported = re.findall(r"PODIUM_\w+(?==)", check["run"])
    for name in (*check["env"], *exported):
        assert f"${{{name}:-" in script, name


def _install_step() -> dict[str, Any]:
    """The action's step that installs podium."""
    [step] = [each for each in ACTION["runs"]["steps"] if each.get("name") == "Install podium"]
    return dict(step)


def test_installation_runs_no_code_of_the_workspace(tmp_path: Path) -> None:
    """The workspace has modules with the names of modules that the installation imports."""
    step, workspace, temporary = _install_step(), tmp_path / "workspace", tmp_path / "temp"
    temporary.mkdir()
    (workspace / "pip").mkdir(parents=True)
    mark = f"open({str(tmp_path / 'ran')!r}, 'a').write(__file__ + chr(10))\n"
    names = ("venv", "subprocess", "logging", "sitecustomize", "pip/__init__", "pip/__main__")
    for name in (*names, "hatchling", "ensurepip", "shutil"):
        (workspace / f"{name}.py").write_text(mark)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        capture_output=True,
        text=True,
        check=False,
        # The step sets another working directory, but must be safe without it
        cwd=workspace,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(workspace),
            "RUNNER_TEMP": str(temporary),
            "GITHUB_ACTION_PATH": str(ROOT),
            # Nothing is downloaded: pip does not find the first package of the lock
            "PIP_NO_INDEX": "1",
            "PIP_NO_CACHE_DIR": "1",
        },
    )
    assert "No matching distribution found" in done.stderr, done.stderr
    assert (temporary / "podium/bin/python").exists()
    assert not (tmp_path / "ran").exists()
    assert step["working-directory"] == "${{ runner.temp }}"


def test_the_action_installs_locked_packages_only() -> None:
    installs = [
        line for line in _install_step()["run"].splitlines() if line.strip().startswith("install ")
    ]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--no-deps --no-build-isolation" in line
        for name in re.findall(r"-r (\S+)", line):
            assert (ROOT / name).is_file()


def test_the_action_writes_the_files_that_the_runner_reads(
    job: Job, tree: Submission, tmp_path: Path
) -> None:
    """The test runs the last step as the runner does, with podium already installed."""
    [check] = [step for step in ACTION["runs"]["steps"] if step.get("id") == "check"]
    temporary, output = tmp_path / "temp", tmp_path / "output"
    (temporary / "podium").mkdir(parents=True)
    (job.place / "bin").rename(temporary / "podium/bin")
    inputs = {name: each["default"] for name, each in ACTION["inputs"].items()}
    inputs |= {"path": tree.root.name, "round": "5.1"}
    variables = {
        name: inputs[re.sub(r"\$\{\{ inputs\.|\s*\}\}", "", value)]
        for name, value in check["env"].items()
    }
    variables |= {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(job.summary),
        "GITHUB_ACTION_PATH": str(ROOT),
        "PYTHONPATH": str(ROOT / "src"),
    }
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", check["run"]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tree.root.parent,
        env={**os.environ, **variables},
    )
    assert (done.returncode, done.stderr) == (Exit.CLEAN, "")
    name, _, sarif = output.read_text().strip().partition("=")
    assert name in ACTION["outputs"]
    assert json.loads(Path(sarif).read_text())["version"] == "2.1.0"
    assert job.summary.read_text()


# --- other CI systems ---


def words_of(line: str) -> list[str]:
    return line.split()[line.split().index("/tmp/podium/bin/podium") + 1 :]


def test_the_gitlab_job_runs_valid_podium_commands(
    tree: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = yaml.safe_load((ROOT / "docs/examples/gitlab-ci.yml").read_text())["podium"]
    monkeypatch.chdir(tree.root)
    (tree.root / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\n')
    report = tree.root.parent / "podium.xml"
    for line in (*job["script"], *job["after_script"]):
        if "bin/podium" in line:
            words = [str(report) if word.endswith(".xml") else word for word in words_of(line)]
            assert run(words) == Exit.CLEAN
    assert report.read_text().startswith("<?xml")
    assert job["artifacts"]["reports"]["junit"] == "podium.xml"


HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_a_pre_commit_hook_runs_a_valid_command_on_submission_files(
    hook: dict[str, Any], tree: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [
        path.relative_to(tree.root).as_posix()
        for path in tree.root.rglob("*")
        if path.is_file() and re.search(hook["files"], path.relative_to(tree.root).as_posix())
    ]
    assert files
    monkeypatch.chdir(tree.root)
    (tree.root / "podium.toml").write_text('submitter = "Acme"\nround = "5.1"\n')
    program, *words = hook["entry"].split()
    assert program == "podium"
    given = files if hook.get("pass_filenames", True) else []
    # `fix` changes a file: the description has no newline at the end
    assert run([*words, *hook.get("args", []), *given]) == Exit.CLEAN


def test_the_docker_context_has_the_files_that_the_wheel_needs() -> None:
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    assert all((ROOT / path).exists() for path in kept)
    linked = {
        os.readlink(path).lstrip("./")
        for path in (ROOT / "src/podium").iterdir()
        if path.is_symlink()
    }
    assert linked <= kept
    assert {"pyproject.toml", "README.md", "LICENSE", "src", "docs/podium.1"} <= kept
