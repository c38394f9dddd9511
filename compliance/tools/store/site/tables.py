"""The benchmarks by rounds: the cells of the first page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from podium.compliance.tools.store.analyses.material import round_order
from podium.compliance.tools.store.site.row import Row, category

UNSTATED = "category not stated"


def _category(row: Row) -> str:
    """The short name of a category: its spellings are one category."""
    return category(row["category"]) if row["category"] else UNSTATED


class Best(NamedTuple):
    """The best closed result of one category: minutes, or models per minute."""

    category: str
    number: float
    rate: bool
    result: str


class Cell(NamedTuple):
    """One benchmark in one round.

    With `apart`, it must not be compared with the benchmark's previous round. `counts` are
    (division, number of results).
    """

    best: Sequence[Best]
    counts: Sequence[tuple[str, int]]
    apart: bool


class Matrix(NamedTuple):
    """One suite: its rounds, newest first, and for each benchmark a cell or None per round."""

    suite: str
    rounds: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]


def matrices(results: Sequence[Row]) -> list[Matrix]:
    """A table for each suite."""
    return [
        _matrix(suite, [row for row in results if row["suite"] == suite])
        for suite in sorted(
            {row["suite"] for row in results}, key=lambda name: (name == "hpc", name)
        )
    ]


def _matrix(suite: str, results: Sequence[Row]) -> Matrix:
    rounds = sorted({row["round"] for row in results}, key=round_order)
    cells_by_round: dict[tuple[str, str], list[Row]] = {}
    for row in results:
        cells_by_round.setdefault((row["model"], row["round"]), []).append(row)
    rows = []
    for model in sorted({row["model"] for row in results}):
        cells: list[Cell | None] = []
        before = None
        for name in rounds:
            cell_rows = cells_by_round.get((model, name))
            span = cell_rows and (cell_rows[0]["comparable_from"], cell_rows[0]["comparable_to"])
            cells.append(_cell(cell_rows, apart=before not in (None, span)) if cell_rows else None)
            before = span or before
        rows.append((model, cells[::-1]))
    return Matrix(suite, rounds[::-1], rows)


def _cell(results: Sequence[Row], *, apart: bool) -> Cell:
    counts = dict.fromkeys(("closed", "open", ""), 0)
    for row in results:
        counts[row["division"]] = counts.get(row["division"], 0) + 1
    labels = [(name or "no division", count) for name, count in counts.items() if count]
    return Cell(best_of(results), labels, apart)


def best_of(results: Sequence[Row]) -> list[Best]:
    """The best closed results by category, without open ones."""
    best: dict[tuple[bool, str], Best] = {}
    for row in results:
        rate = row["scaling"] == "weak"
        number = row["models_per_minute"] if rate else row["score"]
        if row["division"] != "closed" or number is None:
            continue
        candidate = Best(_category(row), number, rate, row["result"])
        current = best.get((rate, candidate.category))
        if current is None or _before(candidate, current):
            best[rate, candidate.category] = candidate
    return sorted(best.values(), key=lambda entry: (entry.rate, _rank(entry), entry.category))


def _before(entry: Best, other: Best) -> bool:
    return _rank(entry) < _rank(other) or (
        _rank(entry) == _rank(other) and entry.result < other.result
    )


def _rank(entry: Best) -> float:
    return -entry.number if entry.rate else entry.number


class Span(NamedTuple):
    """Comparable rounds, and for each category (place of the round, its best result)."""

    name: str
    rounds: Sequence[str]
    best: dict[str, list[tuple[int, Row]]]


def spans(results: Sequence[Row]) -> list[Span]:
    """The best closed times of one benchmark over comparable rounds, if there are at least two."""
    rows_by_span: dict[tuple[str, str], list[Row]] = {}
    for row in results:
        if row["division"] == "closed" and row["scaling"] != "weak" and row["score"] is not None:
            rows_by_span.setdefault((row["comparable_from"], row["comparable_to"]), []).append(row)
    span_list = []
    for (first, last), rows in sorted(
        rows_by_span.items(), key=lambda item: round_order(item[0][0])
    ):
        rounds = sorted({row["round"] for row in rows}, key=round_order)
        if len(rounds) > 1:
            span_list.append(Span(f"{first} to {last}", rounds, _best_over(rows, rounds)))
    return span_list


def _best_over(results: Sequence[Row], rounds: Sequence[str]) -> dict[str, list[tuple[int, Row]]]:
    best: dict[tuple[str, int], Row] = {}
    for row in results:
        key = (_category(row), rounds.index(row["round"]))
        current = best.get(key)
        if current is None or (row["score"], row["result"]) < (current["score"], current["result"]):
            best[key] = row
    lines: dict[str, list[tuple[int, Row]]] = {}
    for name, index in sorted(best):
        lines.setdefault(name, []).append((index, best[name, index]))
    return lines
