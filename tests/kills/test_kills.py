"""Killed at random moments, loggers lose nothing and commands leave the old tree or the new."""

from __future__ import annotations

import pytest

from tests.kills.harness import run


def test_twenty_kills() -> None:
    tally = run(20, seed=7)
    assert tally.faults == []
    assert sum(tally.kills.values()) >= 20
    assert tally.lines > 0


@pytest.mark.long
def test_five_hundred_kills() -> None:
    tally = run(500, seed=11)
    assert tally.faults == []
    assert {name.split()[0] for name in tally.kills} == {
        *("logger", "mllog", "pack", "bundle", "unpack", "init", "system")
    }
