"""The steps of the Dockerfile, run without a container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.builders import build
from tests.locations import ROOT


def steps() -> list[tuple[str, str]]:
    """The instructions and their arguments, with continued lines joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in lines]


def context(place: Path) -> Path:
    """The build context: .dockerignore excludes all paths except those in lines with `!`."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    for name in (line[1:] for line in lines if line.startswith("!")):
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, target)
    return place


def test_the_image_runs_podium_as_a_user_without_privileges() -> None:
    last = dict(steps())
    assert last["USER"].isdigit()
    assert last["USER"] != "0"
    assert last["ENTRYPOINT"] == '["podium"]'
    assert not any("torch" in words for _, words in steps())


def test_base_images_and_packages_are_pinned_by_hash() -> None:
    bases = [words for name, words in steps() if name == "FROM"]
    assert bases
    assert all(re.search(r"@sha256:[0-9a-f]{64}( AS \w+)?$", words) for words in bases)
    lines = [line for name, words in steps() if name == "RUN" for line in words.split("&&")]
    for line in (each for each in lines if "pip install" in each or "pip wheel" in each):
        assert "--require-hashes" in line or "--no-deps" in line


@pytest.mark.long
def test_the_steps_build_a_wheel_that_checks_a_log(tmp_path: Path) -> None:
    run = [words for name, words in steps() if name == "RUN"]
    assert "--require-hashes -r /source/requirements-build.lock" in run[0]
    assert re.match(r"python -m pip wheel .*--no-deps --wheel-dir /wheels /source ", run[1])
    source, wheels = context(tmp_path / "source"), tmp_path / "wheels"
    assert all(
        (source / name).is_file() for name in ("requirements.lock", "requirements-build.lock")
    )
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def python(*words: object) -> str:
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(
            command, env=quiet, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    # Without isolation, pip uses the installed build backend and downloads nothing
    python("-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", wheels, source)
    (wheel,) = wheels.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    log = build("training", "6.1", "closed", "llama31_8b").write(tmp_path / "result_0.txt")
    quiet["PYTHONPATH"] = str(site)
    assert "ACCEPTED" in python("-m", "podium", "check", log, "--round", "6.1")
    assert sum(each.stat().st_size for each in site.rglob("*") if each.is_file()) < 16 << 20
