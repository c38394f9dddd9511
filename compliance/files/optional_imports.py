"""Libraries that only some commands need, and how to install them."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from podium.compliance.errors import UsageFault


def needed(module: str, feature: str, extra: str = "") -> Any:
    """Import a module, which an extra may provide; raises UsageFault if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        command = install_command(extra) if extra else f"pip install {library}"
        raise UsageFault(f"{feature} needs {library}: {command}") from None


def install_command(extra: str) -> str:
    """The command that installs the libraries of an extra.

    It names the libraries, because podium on the public index is another project.
    """
    names = _libraries(extra)
    return f"pip install {' '.join(names)}" if names else f"pip install '.[{extra}]'"


def _libraries(extra: str) -> list[str]:
    """The libraries of an extra; empty if podium runs from a folder and is not installed."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("podium") or []
    except PackageNotFoundError:
        return []
    condition = re.compile(rf"""extra\s*==\s*["']{re.escape(extra)}["']""")
    matches = (re.match(r"[\w.-]+", line) for line in lines if condition.search(line))
    return [match[0] for match in matches if match]
