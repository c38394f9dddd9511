"""The tutorial from its first command to its last, each output as the page shows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.locations import ROOT

INSTALLS = ("python -m pip", "mkdir tutorial")
"""What the page begins with: the test has podium already, and makes the folder."""


def told(text: str) -> str:
    """A text as it is compared: on one line, without times, shares and sizes in decimals."""
    return re.sub(r"\d+\.\d+(?=%|\s|$)", "#", " ".join(text.split()))


def commands(text: str) -> list[tuple[str, str]]:
    """Each command of a block, with its further lines, and what it prints."""
    found: list[tuple[str, str]] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        last = 0
        if "<<'END'" in lines[0]:
            last = lines.index("END")
        while lines[last].endswith("\\"):
            last += 1
        found.append(("\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])))
    return found


def run(command: str, place: Path) -> str:
    """What a command prints in a folder that knows podium by this name only."""
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
def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    place = tmp_path / "tutorial"  # as the page's reader has called it
    tool = place / ".bin/podium"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m podium "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    wrong = []
    for block in blocks("tutorial.md"):
        if block.language != "console":
            continue
        for command, shown in commands(block.text):
            if command.startswith(INSTALLS):
                continue
            printed = told(run(command, place))
            at = 0
            for piece in filter(None, map(told, shown.split("…"))):
                found = printed.find(piece, at)
                if found < 0:
                    wrong.append(f"{command}\n--- shown: {piece}\n--- printed: {printed[at:]}")
                    break
                at = found + len(piece)
    assert wrong == [], "\n\n".join(wrong)
