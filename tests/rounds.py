"""Every round by name, oldest first: written out, so that a lost or added round is noticed."""

from __future__ import annotations

TRAINING = (
    *("0.5", "0.6", "0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"),
    *("4.0", "4.1", "5.0", "5.1", "6.0", "6.1"),
)
HPC = ("0.7", "1.0", "2.0", "3.0")


def training_from(name: str) -> tuple[str, ...]:
    """A training round and the rounds after it."""
    return TRAINING[TRAINING.index(name) :]
