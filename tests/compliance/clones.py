"""A review repository, clones of it, and a submission to pack into a clone.

review = Review.made(tmp_path)
assert review.pack(review.clone()) == Exit.CLEAN   # a commit on the branch Acme-5.1
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compliance.packs import Loose

BRANCH = "Acme-5.1"


def git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(place), *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give git a committer name, and ignore the settings of the machine."""
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = A Person\n\temail = person@example.com\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return config


@dataclass
class Review:
    """A bare repository, clones of it, and the loose files of a submission."""

    place: Path
    loose: Loose

    @property
    def bare(self) -> Path:
        return self.place / "review.git"

    def clone(self, name: str = "clone") -> Path:
        git(self.place, "clone", "-q", str(self.bare), name)
        return self.place / name

    def pack(self, clone: Path, *options: str) -> int:
        return self.loose.pack("--git", str(clone), *options)

    @classmethod
    def made(cls, tmp_path: Path) -> Review:
        """Create a review repository that contains the folder of another submitter."""
        git(tmp_path, "init", "-q", "--bare", "-b", "main", "review.git")
        made = cls(tmp_path, Loose(tmp_path / "acme"))
        seed = made.clone("seed")
        (seed / "README.md").write_text("results of the round\n")
        for path in ("results/b/bert", "systems"):
            (seed / "Beta" / path).mkdir(parents=True)
        (seed / "Beta/results/b/bert/result_0.txt").write_text("theirs\n")
        (seed / "Beta/systems/b.json").write_text("{}\n")
        git(seed, "add", "-A")
        git(seed, "commit", "-q", "-m", "begin")
        git(seed, "push", "-q", "origin", "HEAD:main")
        return made
