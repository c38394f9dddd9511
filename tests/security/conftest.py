"""Fixtures of a hostile clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compliance.clones import Review, alone, git
from tests.security.traps import ATTRIBUTES, Trap


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own configuration."""
    return alone(tmp_path, monkeypatch)


@pytest.fixture
def review(tmp_path: Path, config: Path) -> Review:
    """A review repository whose attributes send every file through filters."""
    made = Review.made(tmp_path)
    seed = made.place / "seed"
    (seed / ".gitattributes").write_text(ATTRIBUTES)
    git(seed, "add", "-A")
    git(seed, "commit", "-q", "-m", "attributes")
    git(seed, "push", "-q", "origin", "HEAD:main")
    return made


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    place = tmp_path / "trap"
    place.mkdir()
    return Trap(place)
