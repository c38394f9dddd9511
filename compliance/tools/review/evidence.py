"""The evidence of one objection, grouped by result: how many of its runs show the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podium.compliance.reporting.grouping import without_values
from podium.compliance.text.words import join_limited
from podium.compliance.tools.review.model import Evidence, EvidenceGroup

MOST_NAMED = 6
"""Number of runs of a result that are named if not all of them are affected."""


def folded(evidence: Sequence[Evidence], runs: Mapping[str, int]) -> list[EvidenceGroup]:
    """The places by result; places whose messages differ only in values form one group.

    `runs` has the number of runs of each result, by its path.
    """
    groups: dict[tuple[str, str], list[Evidence]] = {}
    for each in evidence:
        folder = each.path.rpartition("/")[0]
        home = folder if folder in runs else each.path
        groups.setdefault((home, without_values(each.message)), []).append(each)
    return [
        EvidenceGroup(
            path=path,
            runs=runs.get(path),
            places=len(places),
            files=sorted({each.path.rpartition("/")[2] for each in places if each.path != path}),
            line=places[0].line,
            message=places[0].message,
        )
        for (path, _), places in groups.items()
    ]


def lines(groups: Sequence[EvidenceGroup]) -> Iterator[str]:
    """A line for each group: its place, count and message."""
    for each in groups:
        if not each.files:
            at = f":{each.line}" if each.line is not None else ""
            again = f" ({each.places} times)" if each.places > 1 else ""
            yield f"{each.path}{at}{again}: {each.message}"
        elif len(each.files) == 1:
            at = f":{each.line}" if each.line is not None else ""
            again = f" ({each.places} times)" if each.places > 1 else ""
            yield f"{each.path}/{each.files[0]}{at}{again}: {each.message}"
        else:
            total = f"{len(each.files)} of {each.runs} runs"
            named = ""
            if len(each.files) != each.runs:
                named = f" ({join_limited(list(each.files), MOST_NAMED)})"
            yield f"{each.path}: {total}{named}, such as: {each.message}"
