"""The renderers of a report in each format: `Outcome -> str`; they write nothing."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

FORMATS = ("text", "json", "sarif", "junit", "github", "markdown", "html")

POINTING = ("sarif", "github")
"""Formats whose readers open the path of each finding, so each path must exist."""


def renderer(name: str) -> Callable[..., str]:
    """The function that renders an `Outcome` in one of FORMATS, with its options."""
    module = import_module(f"podium.compliance.reporting.render.{name}")
    render: Callable[..., str] = module.render
    return render
