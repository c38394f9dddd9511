"""Errors for refused archives: one line, which names the member if there is one."""

from __future__ import annotations

from podium.compliance.errors import ComplianceError
from podium.compliance.exit_codes import Exit


class Refused(ComplianceError):
    """An archive or a tree that cannot be trusted."""

    status = Exit.FOUND


class Damaged(Exception):
    """A stream that violates its format; the reader of members adds the name of the member."""
