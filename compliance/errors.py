"""What a caller can do wrong: one line for the user, exit status 2."""

from __future__ import annotations


class ComplianceError(Exception):
    """Base of all: the message is a whole sentence for the user."""


class UsageFault(ComplianceError):
    """Arguments that cannot be followed."""


class NothingToJudge(ComplianceError):
    """A path that does not exist, or holds nothing podium judges."""
