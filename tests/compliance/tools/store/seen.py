"""The files of a store that readers see."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podium.compliance.tools.store.index import NAME as INDEX


def seen(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the index and the tables of the rounds that it names; empty if it names none."""
    folders = [each["folder"] for each in json.loads(files.get(INDEX, b"{}")).get("rounds", ())]
    named = tuple(f"{folder}/" for folder in folders)
    if not named:
        return {}
    return {name: data for name, data in files.items() if name == INDEX or name.startswith(named)}
