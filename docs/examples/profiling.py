"""Put what the commands of docs/profiling.md print here and now into the page, for the old.

Takes some minutes; what a study says is of use only where nothing else runs meanwhile.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent.parent / "profiling.md"
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def printed(command: str, folder: Path) -> str:
    """What a command writes to standard output, without blanks at the ends of lines."""
    words = shlex.split(command)
    if words[0] == "cat":
        return (folder / words[1]).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def anew(block: str, folder: Path) -> str:
    """A block with each of its commands and what that prints now."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{printed(command, folder)}" for command in commands)


def main() -> None:
    """Run every command of the page, in its order and in one folder, and write the page."""
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "jobs.csv").write_text(JOBS, encoding="utf-8")
        for command in BEFORE:
            printed(command, folder)
        made = BLOCK.sub(lambda found: f"```console\n{anew(found[1], folder)}```\n", text)
    PAGE.write_text(made, encoding="utf-8")


BEFORE = [
    f"podium profile {name} --level run --threads {threads} --output {name[0]}{threads}"
    for name in ("ncf", "sentiment")
    for threads in (1, 2)
]
"""Profiles that the page compares, but does not show."""

JOBS = """job,devices,minutes
vision,1,60
vision,2,31
vision,4,16
translation,1,48
translation,2,30
translation,4,22
recommendation,1,20
recommendation,2,18
"""
"""A table of times, made up: no machine of four devices is here."""

if __name__ == "__main__":
    main()
