"""Report to text in each format: `Outcome -> str`, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown")

POINTING = ("sarif", "github")
"""Formats whose readers open the path of each finding, so that something must be there."""


def renderer(name: str) -> Callable[[Outcome], str]:
    """The function that renders a report in one of FORMATS."""
    module = import_module(f"podium.compliance.report.render.{name}")
    render: Callable[[Outcome], str] = module.render
    return render
