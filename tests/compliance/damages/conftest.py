"""The submission to damage, once per module and once per test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compliance.damages.base import ROUND, USAGE, linked, made


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The submission without a damage; tests must not change it."""
    top = tmp_path_factory.mktemp("base")
    yield made(top / f"{USAGE}_results_v{ROUND}" / "AMD")
    shutil.rmtree(top)


@pytest.fixture
def tree(base: Path, tmp_path: Path) -> Path:
    """A copy of the submission, for `changed`."""
    return linked(base, tmp_path / base.parent.name / base.name)
