"""What readers of a store see of its files."""

from __future__ import annotations

import json
from collections.abc import Mapping

from podium.compliance.tools.store.index import NAME as INDEX


def seen(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The index, and the tables of the rounds that it names; empty where it names none."""
    folders = [each["folder"] for each in json.loads(files.get(INDEX, b"{}")).get("rounds", ())]
    named = tuple(f"{folder}/" for folder in folders)
    if not named:
        return {}
    return {name: data for name, data in files.items() if name == INDEX or name.startswith(named)}
