"""Every podium command that a page shows is run, in the order of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.docs import world
from tests.locations import ROOT

pytestmark = pytest.mark.long

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = {
    "adding_a_benchmark.md": "tests/docs/test_adding_a_benchmark.py",
    "first_submission.md": "tests/docs/test_first_submission.py",
    "new_round.md": "tests/docs/test_new_round.py",
    "new_round_points.md": "tests/docs/test_new_round.py",
    "tutorial.md": "tests/docs/test_tutorial.py",
    "tutorial_pack.md": "tests/docs/test_tutorial.py",
}
"""Pages whose commands and output another test checks."""
NOT_RUN = {
    "--scale reference --data": "needs a published dataset",
    "data prepare resnet": "needs ImageNet; tests/reference_runs/preparing has small ones",
    "data verify resnet": "needs ImageNet; tests/reference_runs/preparing has small ones",
    "run llama31_8b": "tests/reference_runs/engine runs several ranks and meshes",
    "--runs 10": "ten runs of what is run once; tests/docs/test_tutorial.py has ten",
    "profile ": "docs/examples/profiling.py runs them; tests/reference_runs/profiling",
    "kernels ": "docs/examples/kernels.py runs them; tests/reference_runs/kernels",
    "handbook": "tests/compliance/plugins and test_packaging.py install the plug-in",
    "--since origin/main": "packing/test_pack_git.py has clones with changes",
    "Acme --explain": "of results that the reader has copied; tests/compliance/tools/scoring",
    "check runs/rgat": "tests/docs/test_tutorial.py checks runs",
}
"""A part of a command → why it is not run here."""
BEFORE: dict[str, tuple[Callable[[Path], None], ...]] = {
    "analysis.md": (world.stored,),
    "bundling.md": (world.packed,),
    "packing.md": (world.remove("Acme"), world.as_clone),
    "results.md": (world.remove("podium.toml"),),
    "results_site.md": (world.stored,),
    "system.md": (world.emptied("systems"), world.probed),
    "usage.md": (world.remove("Acme"), world.as_clone),
}
"""Functions that prepare the files for the commands of a page."""
ALTERNATIVE = re.compile("already exists|exists already")
"""The error when an earlier command of the page has already written the same file."""
UNKNOWN = "age1"
"""The placeholder for the reader's key."""


def blocks(page: Path) -> Iterator[str]:
    """Yield the commands of each block of a page, without their output."""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info in ("", "console", "sh"):
            text = token.content.replace("\\\n", " ")
            if found := re.findall(r"^(?:\$ )?(podium .+)$", text, flags=re.MULTILINE):
                yield "\n".join(re.split(r"   ", each)[0] for each in found)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    command = folder / "podium"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m podium "$@"\n')
    command.chmod(0o755)
    return folder


def shown(page: Path) -> list[str]:
    lines = [line for block in blocks(page) for line in block.splitlines()]
    return [line for line in lines if not any(part in line for part in NOT_RUN)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, programs: Path) -> None:
    """Exit status 1 is allowed. A usage error or a missing file is not."""
    if page.name in ELSEWHERE:
        assert (ROOT / ELSEWHERE[page.name]).is_file()
        return
    commands = shown(page)
    if not commands:
        return
    work = world.made(tmp_path)
    for prepare in BEFORE.get(page.name, ()):
        prepare(work)
    around = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COLUMNS": "80",
    }
    wrong = []
    for command in commands:
        given = re.sub(rf"{UNKNOWN}(…|\.\.\.)", str(world.IDENTITY.to_public()), command)
        done = subprocess.run(
            ["bash", "-c", given],
            cwd=work,
            env=around,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode not in (0, 1) and not ALTERNATIVE.search(done.stderr):
            wrong.append(f"{command}: {done.returncode}, {done.stderr[-300:]}")
    assert not wrong, "\n".join(wrong)


def test_every_exempted_command_is_still_on_a_page() -> None:
    """Remove an exemption when its command is removed."""
    text = "\n".join(block for page in PAGES for block in blocks(page))
    assert [part for part in NOT_RUN if part not in text] == []
