"""Many rounds as tables: built from logs, queried with SQL, analysed.

`podium.results` is its module `results`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import podium.compliance.tools.store.results as results

__all__ = ["results"]


def __getattr__(name: str) -> Any:
    # Building a store does not need the libraries for queries
    if name == "results":
        return import_module(f"{__name__}.results")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
