"""Report to text in each format: `Outcome -> str`, nothing written."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown", "html")

POINTING = ("sarif", "github")
"""Formats whose readers open the path of each finding, so that something must be there."""


def renderer(name: str) -> Callable[..., str]:
    """The function that renders a report in one of FORMATS, an `Outcome`, by its own options."""
    module = import_module(f"podium.compliance.reporting.render.{name}")
    render: Callable[..., str] = module.render
    return render
