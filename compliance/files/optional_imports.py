"""Libraries that only some commands need, and that come with an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from podium.compliance.errors import UsageFault


def needed(module: str, what: str, extra: str) -> Any:
    """A module that an extra brings; raises UsageFault where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise UsageFault(f"{what} needs {library}: pip install 'podium[{extra}]'") from None
