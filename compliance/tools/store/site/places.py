"""The file of each page, and the index for the search.

File names have only plain characters, regardless of the names of submissions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from podium.compliance.reporting.pages.templates import Key, distinct, plain_name
from podium.compliance.text.terminal import clean
from podium.compliance.tools.store.site.material import Material, newest_of_each
from podium.compliance.tools.store.site.row import Row, category

LONGEST = 36
"""Maximum number of characters of a name within a file name."""


class Places(NamedTuple):
    """The files of pages, relative to the folder.

    Results are by path, systems by (submitter, system), benchmarks by (suite, model).
    """

    results: dict[str, str]
    systems: dict[tuple[str, str], str]
    submitters: dict[str, str]
    models: dict[tuple[str, str], str]


def places_of(material: Material) -> Places:
    """The files of all pages; the same store always gives the same files."""
    results = (
        (row["result"], [row["suite"], row["round"], row["submitter"], row["system"], row["model"]])
        for row in material.results
    )
    submitters = {row["submitter"] for row in material.results}
    submitters |= {submitter for submitter, _ in material.systems}
    models = sorted({(row["suite"], row["model"]) for row in material.results})
    return Places(
        _files("results", results),
        _files("systems", ((key, key) for key in sorted(material.systems))),
        _files("submitters", ((name, [name]) for name in sorted(submitters))),
        _files("benchmarks", ((key, key) for key in models)),
    )


def _files(folder: str, entries: Iterable[tuple[Key, Iterable[str]]]) -> dict[Key, str]:
    plain = ((key, "-".join(plain_name(word, LONGEST) for word in words)) for key, words in entries)
    # With a prefix: some operating systems reserve names such as `con`
    return {key: f"{folder}/{folder[0]}-{name}.html" for key, name in distinct(plain).items()}


FACETS = ("suite", "round", "model", "division", "category", "chip", "submitter", "system")
"""The columns by which results are filtered; the index has each value once."""

NUMBERS = ("chips", "score", "spread", "batch_size", "to_converge", "over")
"""The numbers of each result that the search and the comparison show."""


def search_script(material: Material, places: Places) -> str:
    """Every result, submitter, system and benchmark, in compact form."""
    words: dict[str, dict[str, int]] = {name: {} for name in (*FACETS, "unit", "span")}
    results = [
        _entry(
            row | {"span": f"{row['comparable_from']} to {row['comparable_to']}"},
            words,
            places.results[row["result"]],
        )
        for row in sorted(material.results, key=newest_of_each)
    ]
    pages = [
        *([name, file, "submitter"] for name, file in places.submitters.items()),
        *([f"{key[1]}, {key[0]}", file, "system"] for key, file in places.systems.items()),
        *([f"{key[1]}, {key[0]}", file, "benchmark"] for key, file in places.models.items()),
    ]
    data = {
        "facets": {name: [clean(word) for word in values] for name, values in words.items()},
        "numbers": NUMBERS,
        "results": results,
        "pages": [[clean(name), _short(file), kind] for name, file, kind in pages],
    }
    # All characters except ASCII are escaped
    return f"window.podiumSearch = {json.dumps(data, separators=(',', ':'))};\n"


def _entry(row: Row, words: dict[str, dict[str, int]], file: str) -> Sequence[Any]:
    values = {**row, "chip": row["family"], "category": category(row["category"])}
    fields: list[Any] = []
    for name in (*FACETS, "unit", "span"):
        numbers_by_value = words[name]
        fields.append(numbers_by_value.setdefault(values.get(name) or "", len(numbers_by_value)))
    timed = row["scaling"] != "weak"
    numbers = [row[name] if name != "score" or timed else None for name in NUMBERS]
    return [*fields, *(_rounded(number) for number in numbers), _short(file)]


def _rounded(number: float | None) -> float | None:
    return number if number is None or isinstance(number, int) else float(f"{number:.6g}")


def _short(file: str) -> str:
    return file.removesuffix(".html")
