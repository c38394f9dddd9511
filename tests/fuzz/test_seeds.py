"""The fuzz targets accept every seed, including inputs that once showed an error."""

from __future__ import annotations

import pytest

from tests.fuzz.names import NAMES
from tests.fuzz.targets import SEEDS, TARGETS, seeds

LIMIT_S = 60
pytestmark = pytest.mark.usefixtures("never_hangs")


def test_every_name_has_a_target() -> None:
    assert tuple(TARGETS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_seed_makes_a_target_fail(name: str) -> None:
    kept = [*seeds(name)]
    assert len(kept) >= 5
    for path in kept:
        try:
            TARGETS[name](path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path.name}: {error!r}") from error


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_input_is_accepted(name: str) -> None:
    TARGETS[name](b"")


def test_the_seeds_are_small() -> None:
    sizes = [path.stat().st_size for name in NAMES for path in seeds(name)]
    assert sum(sizes) <= 200_000
    assert {path.name for path in SEEDS.iterdir()} == set(NAMES)
