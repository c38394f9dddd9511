"""Conditions under which a guard runs a check again during a run."""

from __future__ import annotations

from podium.logging_spec.reader.record import Record
from podium.rules.checks import Watch, Worth
from podium.rules.run import Run


def on(*keys: str, when: Worth | None = None) -> Watch:
    """Run the check again at records of these keys, or only at those that a condition selects."""
    worth = when or always
    return Watch(keys, lambda _: worth)


def always(_: Run, __: Record) -> bool:
    """True for any record."""
    return True


def again(run: Run, record: Record) -> bool:
    """True for the second record of its key and for later ones."""
    # The run already contains the record itself
    return len(run.where[record.key]) > 1


def once(run: Run, record: Record) -> bool:
    """True for the first record of its key."""
    return len(run.where[record.key]) == 1


def stopped(run: Run, _: Record) -> bool:
    """True for any record from run_stop on."""
    return "run_stop" in run.where
