"""The version of podium, as reports and `podium --version` give it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def tool_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("podium")
    except PackageNotFoundError:
        return "0+unknown"
