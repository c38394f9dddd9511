"""Shared by all tests: settings of the property tests, and the logs that tests start from."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.builders import LogBuilder, build
from tests.locations import ASKED, CORPUS, FACTS

settings.register_profile(
    "podium",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("podium")


_NEEDED = {"corpus": CORPUS / "verdicts.json", "facts": FACTS / "rules.json"}
"""The files that a marked test needs next to the repository, by marker."""


def _need(marker: str) -> None:
    """Fail or skip a test without its files: fail if PODIUM_CORPUS is set."""
    path = _NEEDED[marker]
    if not path.is_file():
        (pytest.fail if ASKED else pytest.skip)(f"{path} is not here; PODIUM_CORPUS says where")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep today's share of the cases of each test that is marked `daily`.

    PODIUM_DAY is the number of a day. A share is every nth case, so that each share has cheap and
    expensive cases if neighbors are similar.
    """
    day = os.environ.get("PODIUM_DAY")
    if not day:
        return
    seen: Counter[str] = Counter()
    other: list[pytest.Item] = []
    for item in items:
        marker = item.get_closest_marker("daily")
        if marker:
            test = item.nodeid.partition("[")[0]
            if (seen[test] - int(day)) % marker.args[0]:
                other.append(item)
            seen[test] += 1
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in {*other}]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check the files that a test needs, even if the test has no cases without them."""
    for marker in _NEEDED:
        if item.get_closest_marker(marker):
            _need(marker)


class Hang(BaseException):
    """Not an Exception, so that no handler catches it."""


@pytest.fixture
def never_hangs(request: pytest.FixtureRequest) -> Iterator[None]:
    """End a test that waits forever, or whose time grows with the square of its input.

    LIMIT_S of a module is the time limit of its tests in seconds.
    """
    limit = getattr(request.module, "LIMIT_S", 60)

    def stop(*_: object) -> None:
        raise Hang(f"longer than {limit} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make tests independent of a workflow, a terminal or a background shell."""
    for name in ("GITHUB_ACTIONS", "COLUMNS", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    # A shell may start background jobs with interrupts ignored, and child processes inherit this
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture
def good() -> LogBuilder:
    """A log without errors, by the rules of training 5.1."""
    return build("training", "5.1", "closed", "llama31_8b")


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Published logs and the official tools' verdicts on them."""
    _need("corpus")
    return CORPUS
