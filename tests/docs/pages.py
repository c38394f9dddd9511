"""Code blocks of the pages in `docs/`, and a copy of the repository to run them on."""

from __future__ import annotations

import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.locations import ROOT

_NAMED = re.compile(r"`([\w./-]+\.\w+)`:$")


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, and the file named in the line before it."""

    language: str
    text: str
    path: str = ""

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each console command with the lines that it must print, in order."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, [line for line in shown if line != "…"]

    def change(self) -> tuple[str, str]:
        """Return the text before and after a diff."""
        lines = self.text.splitlines()
        before = [line[1:] for line in lines if line[0] in " -"]
        after = [line[1:] for line in lines if line[0] in " +"]
        return "\n".join(before), "\n".join(after)


def blocks(name: str) -> list[Block]:
    """Return all fenced blocks of a page, in order."""
    tokens = MarkdownIt("commonmark").parse((ROOT / "docs" / name).read_text(encoding="utf-8"))
    found, before = [], ""
    for token in tokens:
        if token.type == "inline":
            before = token.content
        elif token.type == "fence":
            named = _NAMED.search(before)
            found.append(Block(token.info, token.content, named[1] if named else ""))
            before = ""
    return found


def apply(block: Block, root: Path) -> None:
    """Write a file that the page shows in full, or apply a diff to a file."""
    path = root / block.path
    if block.language != "diff":
        assert not path.exists(), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    before, after = block.change()
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{block.path} must hold {before!r} once"
    path.write_text(text.replace(before, after), encoding="utf-8")


PARTS = ("compliance", "logging_spec", "reference_runs", "rules", "src")


@dataclass(frozen=True)
class Copy:
    """A copy of the repository that runs its own podium."""

    root: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy and capture its output."""
        environment = os.environ | {"PYTHONPATH": str(self.root / "src")}
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
            env=environment,
        )

    def podium(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the podium of the copy."""
        return self.run(sys.executable, "-m", "podium", *words)

    def shell(self, line: str) -> str:
        """Run a command of a page, which must succeed, and return its output."""
        python = f'"{sys.executable}" -m podium'
        words = line.replace("podium ", f"{python} ", 1) if line.startswith("podium ") else line
        done = self.run("bash", "-ec", words)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, name: str) -> None:
        """Follow a page of `docs/` in order: write and change its files, and run its commands."""
        for block in blocks(name):
            if block.path:
                apply(block, self.root)
            elif block.language == "console":
                for command, shown in block.commands():
                    printed = self.shell(command).splitlines()
                    assert [line for line in shown if line not in printed] == [], command


def copied(root: Path) -> Copy:
    """Copy the source to an empty folder."""
    for part in PARTS:
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, root / part, symlinks=True, ignore=leave)
    return Copy(root)


# --- commands of a walk-through ---


def _comparable(text: str) -> str:
    """Normalize a text for comparison: one line, with decimal numbers replaced."""
    return re.sub(r"\d+\.\d+(?=%|\s|$)", "#", " ".join(text.split()))


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a block, with continuation lines, and their output."""
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


def differs(shown: str, printed: str) -> str:
    """Return the first part of a page's output that is not printed in order, or "".

    Parts are separated by `…`, which matches any text.
    """
    text, at = _comparable(printed), 0
    for part in filter(None, map(_comparable, shown.split("…"))):
        found = text.find(part, at)
        if found < 0:
            return f"--- shown: {part}\n--- printed: {text[at:]}"
        at = found + len(part)
    return ""


def words_of(command: str, folder: Path) -> list[str]:
    """Return the words of a podium command, with globs expanded as in a shell."""
    _, *words = shlex.split(command.replace("\\\n", " "))
    return [
        each
        for word in words
        for each in (sorted(glob.glob(word, root_dir=folder)) if "*" in word else [word])
    ]
