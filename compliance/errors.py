"""Errors of callers: one line for the user, and the exit status."""

from __future__ import annotations

from typing import ClassVar

from podium.compliance.exit_codes import Exit


def interrupted(error: BaseException | None) -> bool:
    """Whether an exception occurred while the user's interrupt was handled."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


class ComplianceError(Exception):
    """The base of all errors: the message is a complete sentence for the user."""

    status: ClassVar[Exit] = Exit.USAGE


class UsageFault(ComplianceError):
    """Invalid arguments."""


class NothingToJudge(ComplianceError):
    """A path that does not exist, or contains nothing that podium judges."""
