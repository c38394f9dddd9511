"""The speedup of a training by more accelerators, and its limits.

The efficiency of n accelerators, relative to the fewest of the same kind, is base minutes times
base accelerators over minutes times accelerators. It is the product of three factors:

- convergence: the training that the base needs over the training that n need (epochs, samples);
- throughput: training per minute and accelerator, without evaluation and staging, over the base's;
- overhead: the share of the time that is training, over the base's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from podium.compliance.reporting.bars import Bar, bars
from podium.compliance.tools.store.analyses.bootstrap import log_ratios, numpy, olympic_means
from podium.compliance.tools.store.analyses.material import ResultRow, RunRow, round_order
from podium.compliance.tools.store.analyses.table import UNOFFICIAL, Analysis, Shown

FACTORS = ("efficiency", "convergence", "throughput", "overhead")

# The coefficients of the logarithms of minutes, training minutes, and training needed
_COMBINE = ((1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, -1.0), (0.0, 1.0, -1.0, 0.0))

LEAST_RUNS = 3
"""Minimum number of runs for an interval."""

_BY = ("suite", "round", "model", "submitter", "chip", "division")
_OWN = ("system", "chips", "base", "minutes", "batch", "kind")
_ENDS = tuple(f"{name}_{end}" for name in FACTORS for end in ("low", "high"))
COLUMNS = (*_BY, *_OWN, *FACTORS, "per_doubling", *_ENDS)
SHOWN = (
    *(Shown("chips"), Shown("minutes", digits=5), Shown("batch"), Shown("kind")),
    *(Shown("efficiency", "effic."), Shown("convergence", "converg.")),
    *(Shown("throughput", "thr.put"), Shown("overhead"), Shown("per_doubling", "doubling")),
)

NOTES = (
    (
        "efficiency = base minutes x base chips / (minutes x chips) = convergence x throughput x "
        "overhead."
    ),
    (
        "base: the fewest chips of the same submitter, chip, benchmark and round; minutes are "
        "olympic means, unscaled."
    ),
    "kind: strong with the base's batch size, else growing (batch: multiple of the base's).",
    "doubling: the efficiency of each doubling of the chips, if all are equal.",
    "overhead is 1 if logs mark no evaluation and no staging: they count as throughput then.",
    "CSV and JSON have 90 % intervals, by resampling the runs of both.",
)

MODEL_NOTES = (
    (
        "families: results of one submitter and chip with different numbers of chips; grown: the "
        "largest number of chips over the smallest."
    ),
    (
        "doubling: the efficiency of each doubling, from the fewest chips to the most; the median "
        "of the families, and the extremes."
    ),
)


class _Split(NamedTuple):
    values: tuple[float | None, ...]
    ends: tuple[float | None, ...]


def scaling(results: Sequence[ResultRow]) -> Analysis:
    """Efficiency and its factors for every family of results with different numbers of chips."""
    rows = [row for family in families(results) for row in _rows(family)]
    title = "Scaling: efficiency relative to the fewest chips, and its factors"
    return Analysis("scaling", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def by_model(results: Sequence[ResultRow]) -> Analysis:
    """The scaling of each benchmark in each round: the largest systems of its families."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for family in families(results):
        last = [*_rows(family)][-1]
        groups.setdefault((last["suite"], last["round"], last["model"]), []).append(last)
    rows = [_of_model(key, group) for key, group in groups.items()]
    columns = ("suite", "round", "model", "families", "grown", "doubling", "lowest", "highest")
    shown = tuple(Shown(name, digits=3) for name in columns[2:])
    title = "Scaling by model: the efficiency of each doubling of the chips"
    return Analysis("scaling_by_model", title, columns, rows, columns[:2], shown, MODEL_NOTES)


def _of_model(key: tuple[str, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    doublings = sorted(row["per_doubling"] for row in rows)
    return {
        **dict(zip(("suite", "round", "model"), key, strict=True)),
        "families": len(rows),
        "grown": max(row["chips"] / row["base"] for row in rows),
        "doubling": median(doublings),
        "lowest": doublings[0],
        "highest": doublings[-1],
    }


def families(results: Sequence[ResultRow]) -> list[list[ResultRow]]:
    """Timed results of one submitter, chip, benchmark and round, by chips; the fastest of each."""
    sizes_by_family: dict[tuple[Any, ...], dict[int, ResultRow]] = {}
    for result in results:
        # Open results of one name may use different models; a result without division may be open
        if result.scaling == "weak" or result.division != "closed" or result.score is None:
            continue
        if not result.chips or not result.minutes:
            continue
        sizes = sizes_by_family.setdefault(tuple(getattr(result, name) for name in _BY), {})
        fastest = sizes.get(result.chips)
        if fastest is None or (fastest.minutes or math.inf) > result.minutes:
            sizes[result.chips] = result
    ordered = sorted(sizes_by_family.items(), key=lambda item: _order(item[0]))
    return [[sizes[chips] for chips in sorted(sizes)] for _, sizes in ordered if len(sizes) > 1]


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    suite, name, *others = key
    return (suite, round_order(name), *(str(part) for part in others))


def _rows(family: list[ResultRow]) -> Iterator[dict[str, Any]]:
    base = family[0]
    for result in family:
        split = _split(base, result)
        batch = (
            result.batch_size / base.batch_size if result.batch_size and base.batch_size else None
        )
        grown = math.log2((result.chips or 1) / (base.chips or 1))
        efficiency = split.values[0]
        yield {
            **{name: getattr(result, name) for name in (*_BY, "system", "chips", "minutes")},
            "base": base.chips,
            "batch": batch,
            "kind": "base" if result is base else _kind(batch),
            **dict(zip(FACTORS, split.values, strict=True)),
            "per_doubling": efficiency ** (1 / grown) if grown and efficiency else None,
            **dict(zip(_ENDS, split.ends, strict=True)),
        }


def _kind(batch: float | None) -> str:
    if batch is None:
        return "unknown"
    return "strong" if math.isclose(batch, 1.0) else "growing"


def _split(base: ResultRow, result: ResultRow) -> _Split:
    """The factors and the ends of their intervals; None if the logs do not have the values."""
    chips = (base.chips or 1) / (result.chips or 1)
    efficiency = (base.minutes or math.nan) / (result.minutes or math.nan) * chips
    nothing = (None,) * (2 * len(FACTORS))
    measures = [_measures(result.scored) for result in (base, result)]
    if any(measure is None for measure in measures):
        return _Split((efficiency, None, None, None), nothing)
    np = numpy()
    scale = np.array([math.log(chips), 0.0, math.log(chips), 0.0])
    combine = np.array(_COMBINE)
    means = [np.log(olympic_means(np.array(measure), 0)) for measure in measures]
    values = np.exp((means[0] - means[1]) @ combine + scale)
    ends = _ends(base, result, combine, np.log(values))
    return _Split(tuple(map(float, values)), ends or nothing)


def _ends(
    base: ResultRow, result: ResultRow, combine: Any, center: Any
) -> tuple[float, ...] | None:
    measures = [_measures(result.counted) for result in (base, result)]
    least = [max(LEAST_RUNS, 2 * result.dropped + 1) for result in (base, result)]
    if base is result or any(
        measure is None or len(measure) < most
        for measure, most in zip(measures, least, strict=True)
    ):
        return None
    np = numpy()
    drops = (base.dropped, result.dropped)
    point, low, high = log_ratios(np.array(measures[0]), np.array(measures[1]), drops, combine)
    # Around the published value: if a run failed, the resampled runs are not the scored ones
    pairs = np.exp(np.stack([low - point + center, high - point + center], axis=-1))
    return tuple(float(value) for pair in pairs for value in pair)


def _measures(runs: Sequence[RunRow]) -> list[tuple[float, float, float]] | None:
    """Minutes, training minutes and training needed of each run; None if one is unknown."""
    measures = []
    for run in runs:
        trained, needed = run.training_minutes, run.to_converge
        if not run.minutes or not trained or trained <= 0 or not needed or needed <= 0:
            return None
        measures.append((run.minutes, trained, needed))
    return measures or None


def scaling_bars(analysis: Analysis, width: int) -> str:
    """A bar for each number of chips of each family, with the notice that it is derived."""
    lines = [
        Bar(
            " · ".join(str(row[name]) for name in analysis.by if row[name]),
            f"{row['chips']} chips",
            row["efficiency"],
            f"{row['efficiency'] * 100:.3g} %",
        )
        for row in analysis.rows
        if row["efficiency"] is not None
    ]
    return f"{bars(lines, width)}\n{UNOFFICIAL}\n"
