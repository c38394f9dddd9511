"""Findings for pages, grouped by rule and message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from podium.compliance.tools.store.site.row import Row

MOST_PLACES, MOST_GROUPS, MOST_OF_RULE = {"error": 3, "warning": 3}, 15, 4
"""Maximum places of a group by severity, one for notes, and maximum groups on a result's page, of
all rules and of one rule: a rule with a message for each run hides no other rule.

`podium check` lists all of them.
"""

_RANK = {"error": 0, "warning": 1, "note": 2}


class Group(NamedTuple):
    """Findings of one rule with the same message; `places` are the first of `times` places."""

    severity: str
    rule: str
    message: str
    cites: str
    waived: bool
    times: int
    places: Sequence[tuple[str, int | None]]


class Findings(NamedTuple):
    """The listed groups, the most severe first, and the number of the rest."""

    groups: Sequence[Group]
    more: int


def grouped(rows: Iterable[Row]) -> Findings:
    """Findings by severity, rule and message."""
    rows_by_key: dict[tuple[str, str, str, bool], list[Row]] = {}
    for row in rows:
        key = (row["severity"] or "", row["rule"] or "", row["message"] or "", bool(row["waived"]))
        rows_by_key.setdefault(key, []).append(row)
    groups = [
        _group(key, group_rows)
        for key, group_rows in sorted(
            rows_by_key.items(), key=lambda item: (_RANK.get(item[0][0], 3), item[0])
        )
    ]
    of_rule: Counter[str] = Counter()
    listed: list[Group] = []
    for group in groups:
        of_rule[group.rule] += 1
        if of_rule[group.rule] <= MOST_OF_RULE and len(listed) < MOST_GROUPS:
            listed.append(group)
    return Findings(listed, len(groups) - len(listed))


def _group(key: tuple[str, str, str, bool], rows: Sequence[Row]) -> Group:
    severity, rule, message, waived = key
    positions = [(row["file"] or "", row["line"]) for row in rows[: MOST_PLACES.get(severity, 1)]]
    return Group(severity, rule, message, rows[0]["cites"] or "", waived, len(rows), positions)


Tally = Counter[tuple[str, str, str, str]]
"""Numbers of findings by submitter, suite and round, severity, and rule."""


def tally(rows: Iterable[Row]) -> Tally:
    """The number of findings of each rule in each submission."""
    return Counter(
        (
            row["submitter"] or "",
            f"{row['suite']} {row['round']}",
            row["severity"] or "",
            row["rule"] or "",
        )
        for row in rows
    )


def counted(counts: Tally) -> dict[str, list[tuple[str, str, str, int]]]:
    """By submitter: (suite and round, severity, rule, number), the most severe first."""
    by_submitter: dict[str, list[tuple[str, str, str, int]]] = {}
    for (submitter, *key), count in counts.items():
        by_submitter.setdefault(submitter, []).append((key[0], key[1], key[2], count))
    for entries in by_submitter.values():
        entries.sort(key=lambda entry: (_RANK.get(entry[1], 3), -entry[3], entry))
    return by_submitter
