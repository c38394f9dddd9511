"""Data files next to the modules of the rules, read by the loader of the modules."""

from __future__ import annotations

import os
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader  # takes long to load


def read_beside(spec: ModuleSpec | None, name: str) -> bytes:
    """The file of that name next to a module with this `__spec__`; raises FileNotFoundError.

    `pkgutil.get_data` and `importlib.resources` do the same but load more modules.
    """
    assert spec is not None
    assert spec.origin is not None
    loader = cast("ResourceLoader", spec.loader)
    return loader.get_data(os.path.join(os.path.dirname(spec.origin), name))
