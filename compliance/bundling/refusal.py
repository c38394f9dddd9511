"""Why an archive is refused: always one line, naming the member where there is one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from compliance.errors import ComplianceError, UsageFault


class Refused(ComplianceError):
    """An archive, or a tree, that cannot be trusted as it is: exit status 1."""


class Damaged(Exception):
    """A stream that is not what its format says; the reader of members adds which member."""


def needed(module: str, what: str) -> Any:
    """A module of the extra `bundle`; raises UsageFault where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise UsageFault(f"{what} needs {library}: pip install 'podium[bundle]'") from None
