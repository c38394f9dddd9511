"""The bounds of the rules. `podium rules test handbook` runs their examples."""

import pytest
from podium_handbook import slow_init

from podium.logging_spec.reader.read import parse_log
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.run import Run


@pytest.mark.parametrize(("minutes", "faults"), [(30, 0), (30.1, 1), (0, 0)])
def test_slow_init(minutes: float, faults: int) -> None:
    """Thirty minutes are within the limit, and 30.1 are not."""
    text = excerpt(at(0, "init_start"), at(minutes, "run_start"))
    run = Run(parse_log(text.encode()).records)
    assert len([*slow_init.find(run, None)]) == faults


def test_a_log_without_a_start_has_no_duration() -> None:
    """Other rules check for missing records."""
    run = Run(parse_log(at(0, "init_start").encode()).records)
    assert [*slow_init.find(run, None)] == []
