"""Why an archive is refused: always one line, naming the member where there is one."""

from __future__ import annotations

from podium.compliance.errors import ComplianceError
from podium.compliance.exit_codes import Exit


class Refused(ComplianceError):
    """An archive, or a tree, that cannot be trusted as it is."""

    status = Exit.FOUND


class Damaged(Exception):
    """A stream that is not what its format says; the reader of members adds which member."""
