"""The page on a first submission, from ten raw logs to a package, followed without extras."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.core_only import Session, environment, make_environment, session
from tests.docs.pages import blocks, commands, differs, words_of
from tests.docs.raw_logs import CONFIG, raw_logs
from tests.docs.world import git

PAGE = "first_submission.md"
INSTALL = "pip install"
NOTHING_TO_JUDGE = "podium check rawlogs"
"""The command that must end with exit status 2. All other commands succeed."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The reader's folder with raw logs, code and hyperparameters, and a clone next to it."""
    folder = tmp_path / "first"
    raw_logs(folder / "rawlogs")
    source = folder / "src"
    source.mkdir()
    steps = "Steps to run: bash run_and_time.sh in release 25.09\n"
    (source / "README.md").write_text(f"{steps}\nDataset: init_datasets.sh\n\nWeights: random\n")
    for name in ("setup.sh", "init_datasets.sh", "run_and_time.sh"):
        (source / name).write_text("true\n")
    (source / "train.py").write_text("import a\n\nseed(3)\n")
    (source / "config.yaml").write_text("a: 1\n")
    (source / "ex_n8_pytorch.json").write_text("{}\n")
    (folder / "config.toml").write_text(CONFIG)
    clone = tmp_path / "training_results_v6.1"
    clone.mkdir()
    git(clone, "init", "--quiet", "--initial-branch=main")
    git(clone, "commit", "--quiet", "--allow-empty", "--message=all")
    git(clone, "config", "user.name", "Acme")
    git(clone, "config", "user.email", "acme@example.org")
    return folder


def carried_out(command: str, place: Path, core: Session) -> str:
    """Run a command and return its output."""
    if command.startswith("podium "):
        answer = core.podium(place, *words_of(command, place))
        assert answer.status == (2 if command == NOTHING_TO_JUDGE else 0), f"{command}: {answer}"
        return answer.text
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_print_what_the_page_shows_and_keep_the_raw_logs(
    work: Path, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in (work / "rawlogs").iterdir()}
    interpreter = make_environment(tmp_path / "core")
    wrong = []
    with session(interpreter) as core:
        shown = [each for each in blocks(PAGE) if each.language == "console"]
        for command, output in (pair for block in shown for pair in commands(block.text)):
            if command.startswith(INSTALL):
                continue
            if difference := differs(output, carried_out(command, work, core)):
                wrong.append(f"{command}\n{difference}")
    assert wrong == [], "\n\n".join(wrong)
    assert {path: path.read_bytes() for path in (work / "rawlogs").iterdir()} == before


def test_the_environment_has_no_extra_installed(tmp_path: Path) -> None:
    interpreter = make_environment(tmp_path / "core")
    extras = ("torch", "numpy", "psutil", "cpuinfo", "pyarrow", "pandas", "matplotlib", "pynvml")
    tried = f"import importlib.util as u; print([n for n in {extras} if u.find_spec(n)])"
    done = subprocess.run(
        [interpreter, "-c", tried],
        capture_output=True,
        text=True,
        check=True,
        env=environment(interpreter),
    )
    assert done.stdout == "[]\n"


def test_the_shown_output_suggests_each_next_command() -> None:
    text = "\n".join(block.text for block in blocks(PAGE) if block.language == "console")
    named = set(re.findall(r"(?m)^(?:next: |      \$ )podium (\w+(?: check)?)", text))
    assert {"check", "doctor", "system check", "score", "pack", "bundle", "unpack"} <= named
