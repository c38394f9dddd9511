"""What a caller can do wrong: one line for the user, and the exit status."""

from __future__ import annotations

from typing import ClassVar

from podium.compliance.exit_codes import Exit


def interrupted(error: BaseException | None) -> bool:
    """Whether an exception only came up while the user's interrupt was dealt with."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


class ComplianceError(Exception):
    """Base of all: the message is a whole sentence for the user."""

    status: ClassVar[Exit] = Exit.USAGE


class UsageFault(ComplianceError):
    """Arguments that cannot be followed."""


class NothingToJudge(ComplianceError):
    """A path that does not exist, or holds nothing podium judges."""
