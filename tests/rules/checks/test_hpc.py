"""Staging is part of the timed run before HPC 3.0."""

from __future__ import annotations

import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog


def log(rules: str) -> GoodLog:
    """A good log of an HPC round."""
    return GoodLog([1, 2, 3], "cosmoflow", rules, batch=128, unit="epoch_num")


@pytest.mark.parametrize("rules", ["hpc 1.0", "hpc 2.0", "hpc 3.0"])
def test_a_good_log_has_no_findings(rules: str) -> None:
    assert log(rules).faults() == []


@pytest.mark.parametrize(
    ("rules", "faults"),
    [("hpc 1.0", ["staging.untimed"]), ("hpc 2.0", ["staging.untimed"]), ("hpc 3.0", [])],
)
def test_staging_must_be_timed_before_hpc_3_0(rules: str, faults: list[str]) -> None:
    assert log(rules).put(at(-2, "staging_start")).faults() == faults


@pytest.mark.parametrize(
    ("rules", "faults"), [("hpc 2.0", ["staging.not-logged"]), ("hpc 3.0", [])]
)
def test_missing_staging_records_are_noted_before_hpc_3_0(rules: str, faults: list[str]) -> None:
    assert log(rules).drop("staging_start", "staging_stop").faults() == faults
