"""Update the output on the pages on profiles: run their commands and replace the printed lines.

This takes some minutes. A study is meaningful only if the machine is otherwise idle.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("profiling.md", "profiling_studies.md", "profiling_traces.md")
PAGES = [Path(__file__).parent.parent / name for name in NAMES]
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)


def printed(command: str, folder: Path) -> str:
    """Return the standard output of a command, without blanks at the ends of lines."""
    words = shlex.split(command)
    if words[0] == "cat":
        return (folder / words[1]).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def updated(block: str, folder: Path) -> str:
    """Return a block with the current output of each of its commands."""
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {command}\n{printed(command, folder)}" for command in commands)


def main() -> None:
    """Run every command of the pages, in order and in one folder, and write the pages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "jobs.csv").write_text(JOBS, encoding="utf-8")
        for command in BEFORE:
            printed(command, folder)
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            made = BLOCK.sub(lambda found: f"```console\n{updated(found[1], folder)}```\n", text)
            page.write_text(made, encoding="utf-8")


BEFORE = [
    f"podium profile {name} --level run --threads {threads} --output {name[0]}{threads}"
    for name in ("ncf", "sentiment")
    for threads in (1, 2)
]
"""Commands for the profiles that the pages compare, but do not show."""

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
"""An invented table of times."""

if __name__ == "__main__":
    main()
