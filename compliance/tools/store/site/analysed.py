"""The analyses as pages: their tables, their charts, and the links of the results in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from podium.compliance.reporting.pages.templates import distinct, plain_name
from podium.compliance.tools.store.analyses.breakdown import breakdown
from podium.compliance.tools.store.analyses.charts import CHARTS, MOST_FACETS, chart_svg
from podium.compliance.tools.store.analyses.material import ResultRow
from podium.compliance.tools.store.analyses.power import power
from podium.compliance.tools.store.analyses.rounds import rounds
from podium.compliance.tools.store.analyses.scaling import by_model, scaling
from podium.compliance.tools.store.analyses.table import Analysis, Shown
from podium.compliance.tools.store.analyses.variance import variance

Analyse = Callable[[Sequence[ResultRow]], Analysis]


class AnalysisPage(NamedTuple):
    """An analysis that has a page: its file's name, what makes it, the command that prints it."""

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


class Picture(NamedTuple):
    """A chart of a part of an analysis: its file in the folder, what it is of, the SVG."""

    file: str
    title: str
    svg: str


class Column(NamedTuple):
    """A column of the page's table: heading as `heads` takes it, where its values are."""

    heading: str
    shown: Shown
    number: bool


def columns_of(made: Analysis) -> list[Column]:
    """What an analysis is grouped by, to choose from, then what its text shows."""
    shown = made.shown or [Shown(name) for name in made.columns if name not in made.by]
    found = [Column(f"?{name.replace('_', ' ')}", Shown(name), number=False) for name in made.by]
    for each in shown:
        values = [row.get(each.name) for row in made.rows]
        number = all(isinstance(value, int | float) or value is None for value in values)
        heading = each.heading or each.name.replace("_", " ")
        found.append(Column(f"#{heading}" if number else heading, each, number))
    return found


def pictures(kind: AnalysisPage, made: Analysis) -> Iterator[Picture]:
    """A chart for each suite and round, or for each suite where rounds stand together."""
    if made.name not in CHARTS or not made.rows:
        return
    names = [name for name in ("suite", "round") if name in made.by] or ["suite"]

    parts: dict[str, list[Any]] = {}
    for row in made.rows:
        parts.setdefault(" ".join(str(row.get(name) or "") for name in names), []).append(row)
    wanted = [
        (f"{words}, part {number}" if number > 1 else words, few)
        for words, rows in parts.items()
        for number, few in enumerate(_few(rows, made.by), 1)
    ]
    files = distinct((title, plain_name(f"{kind.name}-{title}")) for title, _ in wanted)
    for title, few in wanted:
        yield Picture(f"charts/{files[title]}.svg", title, chart_svg(made._replace(rows=few)))


def _few(rows: Sequence[Any], by: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Rows of at most as many groups as one picture has small charts."""
    part: list[Any] = []
    groups: set[tuple[Any, ...]] = set()
    for row in rows:
        group = tuple(row.get(name) for name in by)
        if group not in groups and len(groups) == MOST_FACETS:
            yield part
            part, groups = [], set()
        groups.add(group)
        part.append(row)
    if part:
        yield part
