"""Data files that lie beside the rules' modules, read by what loaded these."""

from __future__ import annotations

import os
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader  # takes long to load


def read_beside(spec: ModuleSpec | None, name: str) -> bytes:
    """The file of that name beside a module, given its `__spec__`; raises FileNotFoundError.

    `pkgutil.get_data` and `importlib.resources` do the same, and load much more of the library.
    """
    assert spec is not None
    assert spec.origin is not None
    loader = cast("ResourceLoader", spec.loader)
    return loader.get_data(os.path.join(os.path.dirname(spec.origin), name))
