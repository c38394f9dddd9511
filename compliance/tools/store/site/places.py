"""Which file each page is: plain names below the folder, whatever submissions are called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from podium.compliance.reporting.pages.names import Key, distinct, plain_name
from podium.compliance.tools.store.site.material import Material

LONGEST = 36
"""Characters that a name has in that of a file."""


class Places(NamedTuple):
    """The files of pages, below the folder.

    Of results by their path, of systems by (submitter, system), of benchmarks by (suite, model).
    """

    results: dict[str, str]
    systems: dict[tuple[str, str], str]
    submitters: dict[str, str]
    models: dict[tuple[str, str], str]


def places_of(material: Material) -> Places:
    """A page for everything that has a name; the same store gives the same files."""
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


def _files(folder: str, wanted: Iterable[tuple[Key, Iterable[str]]]) -> dict[Key, str]:
    plain = ((key, "-".join(plain_name(word, LONGEST) for word in words)) for key, words in wanted)
    # A folder's name before it: some systems keep names such as `con` for themselves
    return {key: f"{folder}/{folder[0]}-{name}.html" for key, name in distinct(plain).items()}
