"""The best results over rounds that MLCommons' table of compatible results allows to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.compliance.tools.store.analyses.material import ResultRow, round_order
from podium.compliance.tools.store.analyses.table import Analysis, Shown

ANY = "any"

_BY = ("suite", "model", "span", "category", "chip")
COLUMNS = (
    *_BY,
    "round",
    "submitter",
    "system",
    "chips",
    "score",
    "over_last",
    "over_first",
    "verdict",
    "result",
)
SHOWN = (
    *(Shown("round"), Shown("submitter"), Shown("chips"), Shown("score", "minutes", 5)),
    *(Shown("over_last", "x last"), Shown("over_first", "x first")),
)
NOTES = (
    "Closed results only, by category. score: minutes, with the published factor.",
    (
        "x last, x first: speedup over the best of the previous round in the table, and over the "
        "best of the first one. Rounds are only combined if MLCommons' table of compatible results "
        "allows it; chips differ."
    ),
)


def rounds(results: Sequence[ResultRow], *, overall: bool = False) -> Analysis:
    """The fastest closed result of each round, by benchmark, availability and chip.

    With `overall`, chips and categories are combined.
    """
    best: dict[tuple[str, ...], dict[str, ResultRow]] = {}
    for result in results:
        if result.scaling == "weak" or result.division != "closed" or result.score is None:
            continue
        span = f"{result.comparable_from} to {result.comparable_to}"
        kind = (ANY, ANY) if overall else (result.category or "", result.chip or "")
        of_rounds = best.setdefault((result.suite, result.model, span, *kind), {})
        fastest = of_rounds.get(result.round)
        if fastest is None or (result.score, result.result) < (
            fastest.score or 0.0,
            fastest.result,
        ):
            of_rounds[result.round] = result
    rows = [row for key in sorted(best) for row in _rows(key, best[key])]
    title = "Rounds: the fastest closed results of comparable rounds"
    return Analysis("rounds", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def _rows(key: tuple[str, ...], of_rounds: dict[str, ResultRow]) -> list[dict[str, Any]]:
    results = [of_rounds[name] for name in sorted(of_rounds, key=round_order)]
    rows = []
    for index, result in enumerate(results):
        last, first, score = results[index - 1], results[0], result.score or 0.0
        columns = {
            name: getattr(result, name) for name in COLUMNS if name in result.__struct_fields__
        }
        speedups = [
            (reference.score or 0.0) / score if index and score else None
            for reference in (last, first)
        ]
        rows.append(
            {
                **columns,
                **dict(zip(_BY, key, strict=True)),
                "over_last": speedups[0],
                "over_first": speedups[1],
            }
        )
    return rows
