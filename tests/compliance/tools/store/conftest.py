"""Stores that several test modules use, each built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compliance.tools.review.rounds import NAME, submission
from tests.compliance.tools.store.stores import built
from tests.published import own_copy

FEW = (
    "training_results_v0.5",
    "training_results_v0.6/Alibaba",
    "hpc_results_v2.0/Dell",
    "training_results_v5.0/AMD",
)
"""Published submissions of every log dialect that are quick to read."""


@pytest.fixture(scope="session")
def few(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four published rounds with one or two submissions each."""
    place = tmp_path_factory.mktemp("few")
    for name in FEW:
        (place / name).parent.mkdir(exist_ok=True)
        own_copy(corpus / name, place / name)
    return place


@pytest.fixture(scope="session")
def published(few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the rounds in `few`."""
    store = tmp_path_factory.mktemp("published") / "store"
    built(store, *sorted(few.iterdir()))
    return store


@pytest.fixture(scope="session")
def two_submissions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a round with two generated submissions; the second has an invalid description."""
    place = tmp_path_factory.mktemp("round")
    submission(place)
    submission(place, "Bmce", start=40).system(number_of_nodes="many")
    built(place / "store", place / NAME)
    return place / "store"


@pytest.fixture(scope="session")
def everything(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all published rounds; building it takes ten seconds."""
    store = tmp_path_factory.mktemp("everything") / "store"
    built(store, *sorted(corpus.glob("*_results_v*")), jobs=2)
    return store
