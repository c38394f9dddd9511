"""What a caller can do wrong: one line for the user, exit status 2."""

from __future__ import annotations


def interrupted(error: BaseException | None) -> bool:
    """Whether an exception only came up while the user's interrupt was dealt with."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


class ComplianceError(Exception):
    """Base of all: the message is a whole sentence for the user."""


class UsageFault(ComplianceError):
    """Arguments that cannot be followed."""


class NothingToJudge(ComplianceError):
    """A path that does not exist, or holds nothing podium judges."""
