"""Report to text in each format: `Report -> str`, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compliance.report import Report

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")


def renderer(name: str) -> Callable[[Report], str]:
    """The function that renders a report in one of FORMATS."""
    if name == "json":
        return lambda report: report.to_json()
    module = import_module(f"compliance.render.{name}")
    render: Callable[[Report], str] = module.render
    return render
