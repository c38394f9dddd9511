"""The reference of the Python interface: the exported names."""

from __future__ import annotations

import podium

HEAD = """# Python

The names that `podium` exports are its public interface. Everything else may change.
"""


def page() -> str:
    """Return a directive of mkdocstrings for each exported name."""
    names = sorted(name for name in podium.__all__ if not name.startswith("_"))
    return HEAD + "".join(f"\n::: podium.{name}\n" for name in names)
