"""The index of the search, as a script: a page from `file://` may read no other file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from podium.compliance.text.terminal import clean
from podium.compliance.tools.store.site.material import Material
from podium.compliance.tools.store.site.places import Places
from podium.compliance.tools.store.site.row import Row

FACETS = ("suite", "round", "model", "division", "category", "chip", "submitter", "system")
"""What results are told apart by; each value stands once in the index."""


def search_script(material: Material, places: Places) -> str:
    """Every result, submitter, system and benchmark, as few bytes each."""
    words: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    results = [_entry(row, words, places.results[row["result"]]) for row in material.results]
    pages = [
        *([name, file, "submitter"] for name, file in places.submitters.items()),
        *([f"{key[1]}, {key[0]}", file, "system"] for key, file in places.systems.items()),
        *([f"{key[1]}, {key[0]}", file, "benchmark"] for key, file in places.models.items()),
    ]
    data = {
        "facets": {name: [clean(word) for word in known] for name, known in words.items()},
        "results": results,
        "pages": [[clean(name), _short(file), kind] for name, file, kind in pages],
    }
    # All but ASCII is escaped
    return f"window.podiumSearch = {json.dumps(data, separators=(',', ':'))};\n"


def _entry(row: Row, words: dict[str, dict[str, int]], file: str) -> Sequence[Any]:
    found: list[Any] = []
    for name in FACETS:
        known = words[name]
        found.append(known.setdefault(row[name] or "", len(known)))
    score = row["score"] if row["scaling"] != "weak" else None
    return [*found, row["chips"], None if score is None else float(f"{score:.6g}"), _short(file)]


def _short(file: str) -> str:
    return file.removesuffix(".html")
