"""All checks, in the order of the pages.

A check that the limits of a round leave without work stays in that round and finds nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from podium.rules.checks import (
    Check,
    disclosure,
    ending,
    evaluation,
    hpc,
    lifecycle,
    monotonic,
    numbering,
    offline,
    one_run,
    pairing,
    rounding,
    speed,
    values,
)
from podium.rules.finding import Severity

ALL: tuple[Check, ...] = (
    *one_run.CHECKS,
    *lifecycle.CHECKS,
    *evaluation.CHECKS,
    *rounding.CHECKS,
    *offline.CHECKS,
    *ending.CHECKS,
    *speed.CHECKS,
    *numbering.CHECKS,
    *pairing.CHECKS,
    *monotonic.CHECKS,
    *values.CHECKS,
    *disclosure.CHECKS,
)
"""Checks of every round."""

HPC: tuple[Check, ...] = (*ALL, *hpc.CHECKS)
"""Checks of every HPC round."""


def binding(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The same checks with errors for warnings, for a round without a verifier."""
    return tuple(
        # Notes stay notes: many accepted logs have the same fault
        replace(declared, severity=Severity.ERROR)
        if declared.severity is Severity.WARNING
        else declared
        for declared in checks
    )
