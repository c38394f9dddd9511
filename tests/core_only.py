"""An environment with podium's dependencies but without extras, created without a network.

Its packages are links to the packages of the test environment.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import IO

from packaging.requirements import Requirement

from tests.locations import ROOT

_CALLS = """
import contextlib, io, json, os, sys
from podium.compliance.cli.entry import run
from podium.compliance.judging.inputs.round_selection import forget
answers = sys.stdout
for line in sys.stdin:
    folder, words = json.loads(line)
    os.chdir(folder)
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = run(words)
    forget()
    answers.write(json.dumps([int(status), out.buffer.getvalue().decode()]) + "\\n")
    answers.flush()
"""


@dataclass(frozen=True)
class Answer:
    """The exit status of one call, and what it printed to both streams."""

    status: int
    text: str


def core_distributions() -> dict[str, Distribution]:
    """podium's dependencies without extras, and their dependencies, by name."""
    found: dict[str, Distribution] = {}
    waiting = ["podium"]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found[name] = distribution(name)
        needed = map(Requirement, found[name].requires or ())
        waiting += [
            each.name
            for each in needed
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
    return found


def make_environment(home: Path) -> Path:
    """Create an environment with only the core's packages; return its interpreter."""
    venv.create(home, with_pip=False, symlinks=True)
    site = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    for each in core_distributions().values():
        tops = {Path(file).parts[0] for file in each.files or ()}
        for top in tops - {"..", "__pycache__"}:
            if not top.endswith(".pth") and not (site / top).exists():
                (site / top).symlink_to(Path(str(each.locate_file(top))))
    (site / "podium-source.pth").write_text(f"{ROOT / 'src'}\n", encoding="utf-8")
    interpreter, command = home / "bin" / "python", home / "bin" / "podium"
    command.write_text(f'#!/bin/sh\nexec "{interpreter}" -m podium "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return interpreter


def environment(interpreter: Path) -> dict[str, str]:
    """The variables of a shell in which the environment is active, 80 columns wide."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {
        "COLUMNS": "80",
        "PATH": f"{interpreter.parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(interpreter.parent / "cache"),
    }


def shell(interpreter: Path, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, in a shell in which the environment is active."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(interpreter),
        capture_output=True,
        text=True,
        check=False,
    )


class Session:
    """A process of the environment that runs commands in sequence."""

    def __init__(self, process: subprocess.Popen[str], asks: IO[str], answers: IO[str]) -> None:
        self.process, self.asks, self.answers = process, asks, answers

    def podium(self, folder: Path, *words: str) -> Answer:
        """Call podium in a folder."""
        self.asks.write(json.dumps([str(folder), words]) + "\n")
        self.asks.flush()
        return Answer(*json.loads(self.answers.readline()))


@contextmanager
def session(interpreter: Path) -> Iterator[Session]:
    """A session for several calls of podium."""
    process = subprocess.Popen(
        [interpreter, "-c", _CALLS],
        env=environment(interpreter),
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        yield Session(process, process.stdin, process.stdout)
        process.stdin.close()
