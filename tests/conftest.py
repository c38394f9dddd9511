"""What all tests share: settings of the property tests, and the logs they start from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.builders import LogBuilder, build
from tests.locations import CORPUS

settings.register_profile(
    "podium",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("podium")


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on where it runs: neither on a workflow nor on a terminal."""
    for name in ("GITHUB_ACTIONS", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def good() -> LogBuilder:
    """A log without any fault, by the rules of training 5.1."""
    return build("training", "5.1", "closed", "llama31_8b")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Published logs and the incumbent's verdicts on them."""
    if not (CORPUS / "verdicts.json").is_file():
        pytest.skip(f"the published logs are not here: {CORPUS}")
    return CORPUS
