"""The commands of the tutorial, run in order, print the output that the pages show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Block, blocks, commands, differs
from tests.locations import ROOT

INSTALLS = ("python -m pip", "mkdir tutorial")
"""The first commands of the page. The test skips them and creates the folder itself."""


PAGES = ("tutorial.md", "tutorial_pack.md")
"""The pages of the tutorial, in order."""


def tutorial_blocks() -> list[Block]:
    """Return all blocks of the tutorial."""
    return [block for page in PAGES for block in blocks(page)]


def run(command: str, place: Path) -> str:
    """Run a command with `podium` on the path and return its output."""
    env = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{place / '.bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=place, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout + done.stderr


@pytest.mark.long
def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path: Path) -> None:
    place = tmp_path / "tutorial"  # the name on the page
    tool = place / ".bin/podium"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m podium "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    wrong = []
    for block in tutorial_blocks():
        if block.language != "console":
            continue
        for command, shown in commands(block.text):
            if command.startswith(INSTALLS):
                continue
            if difference := differs(shown, run(command, place)):
                wrong.append(f"{command}\n{difference}")
    assert wrong == [], "\n\n".join(wrong)
