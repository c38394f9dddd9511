"""The PATHs of a call, on this disk or as URLs: where each lies now, and what it is called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.placing import based

Given = TypeVar("Given")

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")
"""How a URL begins, or one within another. A scheme has two letters: one is a drive of Windows."""


class GivenPaths(NamedTuple):
    """Paths on this disk, in the order that they were given.

    `names` has, for the folder that a URL's tree lies in, what stands for it in the URL.
    """

    paths: list[Path]
    names: Mapping[str, str] = {}

    @property
    def own(self) -> list[Path]:
        """The paths that were on this disk before the call."""
        places = tuple(f"{place}/" for place in self.names)
        return [path for path in self.paths if not str(path).startswith(places)]

    def seen(self, report: Outcome, root: str) -> Outcome:
        """A report with what to put in front of its paths, seen from `root` or as URLs."""
        if not self.own and len(self.paths) == 1:
            (path,) = self.paths
            folder = path if path.is_dir() else path.parent
            # Wherever it lies: to the user it is nowhere on this disk
            return self.as_given(msgspec.structs.replace(report, base=str(folder)))
        return self.as_given(based(report, self.paths, root))

    def as_given(self, value: Given) -> Given:
        """A text, or structs, lists and objects of texts, with URLs in place of where they lie."""
        return self._named(value) if self.names else value

    def _named(self, value: Any) -> Any:
        # Exactly a text, a list: enumerations and named tuples hold no paths
        if type(value) is str:
            for place, name in self.names.items():
                value = value.replace(place, name)
            return value
        if isinstance(value, msgspec.Struct):
            held = {name: self._named(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **held)
        if isinstance(value, dict):
            return {key: self._named(held) for key, held in value.items()}
        return [*map(self._named, value)] if type(value) is list else value
