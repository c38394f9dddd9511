"""Files of the pages that come with podium: templates, the style, scripts."""

from __future__ import annotations

from importlib.resources import files


def asset(name: str) -> str:
    """The text of a file of `pages`."""
    return (files(__package__) / "pages" / name).read_text(encoding="utf-8")
