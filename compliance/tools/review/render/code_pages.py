"""The pages of a code review: a matrix of submitters and benchmarks, and a page for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from podium.compliance.reporting.pages.templates import environment, slugs
from podium.compliance.tools.review.code.model import NAMED, Cell, CodeReview, FileDiff, Hunk

INDEX = "code.html"
MOST_LINES = 20_000
"""Maximum number of lines of hunks on one page; `podium review code` prints the rest."""

TAB = " " * 4
_ELEMENTS = {"+": "ins", "-": "del"}


def code_pages(review: CodeReview, shared_fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(file, text) of every page; `shared_fields` are on all pages of the folder."""
    templates = environment(__package__, {})
    slug_by_name = slugs([cell.name for cell in review.cells], "code")
    files = {name: f"{file}.html" for name, file in slug_by_name.items()}
    fields = {**shared_fields, "code": review, "files": files}
    total = max((cell.to_read for cell in review.cells), default=0)
    index = templates.get_template("code.html.j2")
    yield INDEX, index.render(here=INDEX, total=total, **fields).rstrip() + "\n"
    page = templates.get_template("code_cell.html.j2")
    for cell in review.cells:
        diffs, unshown = _fitting(cell.diffs)
        text = page.render(
            here=INDEX,
            cell=cell,
            diffs=diffs,
            left=unshown,
            opaque=[file for file in cell.others if file.kind in NAMED],
            variables=_variables(cell),
            rows=_rows,
            **fields,
        )
        yield files[cell.name], text.rstrip() + "\n"


def _fitting(diffs: Sequence[FileDiff]) -> tuple[list[FileDiff], int]:
    """The files whose hunks fit on a page, and the number of lines that do not fit."""
    room, fitting, unshown = MOST_LINES, [], 0
    for diff in diffs:
        hunks = []
        for hunk in diff.hunks:
            room -= len(hunk.lines)
            if room >= 0:
                hunks.append(hunk)
            else:
                unshown += hunk.to_read
        fitting.append(replace(diff, hunks=hunks))
    return fitting, unshown


def _rows(hunk: Hunk) -> list[tuple[str, str]]:
    """(element, text) of each line."""
    return [(_ELEMENTS.get(line[:1], "span"), line.replace("\t", TAB)) for line in hunk.lines]


def _variables(cell: Cell) -> list[str]:
    return [
        *dict.fromkeys(
            name for configuration in cell.configurations for name in configuration.values
        )
    ]
