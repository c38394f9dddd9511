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
    for entry in evidence:
        folder = entry.path.rpartition("/")[0]
        home = folder if folder in runs else entry.path
        groups.setdefault((home, without_values(entry.message)), []).append(entry)
    return [
        EvidenceGroup(
            path=path,
            runs=runs.get(path),
            places=len(entries),
            files=sorted(
                {entry.path.rpartition("/")[2] for entry in entries if entry.path != path}
            ),
            line=entries[0].line,
            message=entries[0].message,
        )
        for (path, _), entries in groups.items()
    ]


def lines(groups: Sequence[EvidenceGroup]) -> Iterator[str]:
    """A line for each group: its place, count and message."""
    for group in groups:
        if not group.files:
            position = f":{group.line}" if group.line is not None else ""
            times = f" ({group.places} times)" if group.places > 1 else ""
            yield f"{group.path}{position}{times}: {group.message}"
        elif len(group.files) == 1:
            position = f":{group.line}" if group.line is not None else ""
            times = f" ({group.places} times)" if group.places > 1 else ""
            yield f"{group.path}/{group.files[0]}{position}{times}: {group.message}"
        else:
            total = f"{len(group.files)} of {group.runs} runs"
            file_names = ""
            if len(group.files) != group.runs:
                file_names = f" ({join_limited(list(group.files), MOST_NAMED)})"
            yield f"{group.path}: {total}{file_names}, such as: {group.message}"
