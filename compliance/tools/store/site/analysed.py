"""The analyses that have pages, and the columns of their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from podium.compliance.tools.store.analyses.breakdown import breakdown
from podium.compliance.tools.store.analyses.material import ResultRow
from podium.compliance.tools.store.analyses.power import power
from podium.compliance.tools.store.analyses.rounds import rounds
from podium.compliance.tools.store.analyses.scaling import by_model, scaling
from podium.compliance.tools.store.analyses.table import Analysis, Shown
from podium.compliance.tools.store.analyses.variance import variance

Analyse = Callable[[Sequence[ResultRow]], Analysis]


class AnalysisPage(NamedTuple):
    """An analysis with a page: the name of its file, its command and its function."""

    name: str
    command: str
    make: Analyse


KINDS = (
    AnalysisPage("scaling", "scaling", scaling),
    AnalysisPage("scaling-by-model", "scaling --by-model", by_model),
    AnalysisPage("variance", "variance", variance),
    AnalysisPage("breakdown", "breakdown", lambda results: breakdown(results, suite="hpc")),
    AnalysisPage("rounds", "rounds", rounds),
    AnalysisPage("power", "power", power),
)


class Column(NamedTuple):
    """A column of the page's table: the heading in the syntax of `heads`, and its values."""

    heading: str
    shown: Shown
    number: bool


def columns_of(analysis: Analysis) -> list[Column]:
    """The columns by which an analysis is grouped, as filters, then the columns of its text."""
    shown = analysis.shown or [Shown(name) for name in analysis.columns if name not in analysis.by]
    columns = [
        Column(f"?{name.replace('_', ' ')}", Shown(name), number=False) for name in analysis.by
    ]
    for column in shown:
        values = [row.get(column.name) for row in analysis.rows]
        number = all(isinstance(value, int | float) or value is None for value in values)
        heading = column.heading or column.name.replace("_", " ")
        columns.append(Column(f"#{heading}" if number else heading, column, number))
    return columns
