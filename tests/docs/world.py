"""The files that a reader has when following the commands of a page."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyrage

from tests.builders import build
from tests.compliance.packs import Loose
from tests.compliance.trees import good, throughput, usual
from tests.locations import ROOT

RECORDED = ROOT / "tests/compliance/tools/curves/recorded"
"""Files that experiment trackers wrote for a run."""
IDENTITY = pyrage.x25519.Identity.generate()
"""The key that decrypts an encrypted archive."""


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Acme", "-c", "user.email=acme@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def made(place: Path) -> Path:
    """Create the files that the pages use, and return the folder for their commands."""
    work = Loose(place).work
    for round_ in ("5.0", "5.1"):
        good(work / f"training_results_v{round_}", "training", round_, "llama31_405b")
    throughput(work / "hpc_results_v3.0")
    for name in ("old", "new"):
        shutil.copytree(work / "training_results_v5.1", work / name)
    usual(work)
    shutil.copytree(work / "Acme/systems", work / "systems")
    for system, benchmark, round_ in (
        ("mysystem", "llama31_8b", "6.1"),
        ("mysystem", "llama2_70b_lora", "5.1"),
        ("my_system", "bert", "4.0"),
    ):
        log = build("training", round_, "closed", benchmark)
        for number in range(3):
            log.write(work / "results" / system / benchmark / f"result_{number}.txt")
    build("training", "6.1", "closed", "llama31_8b").write(work / "result_0.txt")
    (work / "pass.txt").write_text("a passphrase of several words\n")
    (work / "key.txt").write_text(f"{IDENTITY}\n")
    (work / "config.toml").write_text("global_batch_size = 32\nopt_adamw_beta_2 = 0.95\n")
    (work / "config.json").write_text('{"global_batch_size": 1152}\n')
    shutil.copytree(RECORDED, work / "trackers")
    for name in ("review", "training_results_v6.1"):
        shutil.copytree(work / "training_results_v5.1", place / name)
        git(place / name, "init", "--quiet", "--initial-branch=main")
        git(place / name, "add", "--all")
        git(place / name, "commit", "--quiet", "--message=all")
    return work


def as_clone(work: Path) -> None:
    """Make the folder a clone whose only commit is also `origin/main`."""
    git(work, "init", "--quiet", "--initial-branch=main")
    # podium commits too, and the user of the tests may have no name configured
    git(work, "config", "user.name", "Acme")
    git(work, "config", "user.email", "acme@example.org")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message=all")
    git(work, "update-ref", "refs/remotes/origin/main", "HEAD")


def remove(*names: str) -> Callable[[Path], None]:
    """Return a function that removes files, for pages that create them."""

    def gone(work: Path) -> None:
        for name in names:
            shutil.rmtree(work / name, ignore_errors=True)
            if (work / name).is_file():
                (work / name).unlink()

    return gone


def emptied(name: str) -> Callable[[Path], None]:
    """Return a function that empties a folder."""

    def empty(work: Path) -> None:
        shutil.rmtree(work / name)
        (work / name).mkdir()

    return empty


def podium(work: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "podium", *words], cwd=work, check=False)


def stored(work: Path) -> None:
    """Build a store of a round."""
    podium(work, "results", "build", "training_results_v5.0", "--output", "store")


def packed(work: Path) -> None:
    """Pack a tree and copy it to `Acme`."""
    podium(work, "pack")
    remove("Acme")(work)
    shutil.copytree(work / "packed/Acme", work / "Acme")


def probed(work: Path) -> None:
    """Write a file with `podium system probe` for each of two nodes."""
    for node in range(2):
        podium(work, "system", "probe", "--output", f"probe-{node}.json")
