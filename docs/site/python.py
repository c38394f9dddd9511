"""The reference of podium's Python interface: what the package exports."""

from __future__ import annotations

import podium

HEAD = """# Python

What `podium` exports is its public interface; everything else may change.
"""


def page() -> str:
    """A directive of mkdocstrings for each name that is exported."""
    names = sorted(name for name in podium.__all__ if not name.startswith("_"))
    return HEAD + "".join(f"\n::: podium.{name}\n" for name in names)
