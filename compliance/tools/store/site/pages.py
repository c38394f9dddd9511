"""The pages of a site: they load nothing from servers and are readable without scripts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from podium.compliance.reporting.pages.templates import (
    SCRIPT,
    STYLE,
    environment,
    joined,
)
from podium.compliance.text.chips import chip_family
from podium.compliance.tools.store.analyses.material import round_order
from podium.compliance.tools.store.analyses.table import UNOFFICIAL, Analysis
from podium.compliance.tools.store.site.analysed import AnalysisPage, columns_of
from podium.compliance.tools.store.site.curves import (
    alike,
    colour,
    convergence,
    curves,
    margin,
    name_of,
    seeds_of,
)
from podium.compliance.tools.store.site.figures import parts
from podium.compliance.tools.store.site.findings import Tally, counted, grouped
from podium.compliance.tools.store.site.material import (
    Material,
    OfRound,
    newest_and_fastest,
    newest_of_each,
)
from podium.compliance.tools.store.site.overview import at_sizes, comparable, overviews
from podium.compliance.tools.store.site.places import places_of, search_script
from podium.compliance.tools.store.site.plots import COLOURS, Axis, Line, Plot, plot
from podium.compliance.tools.store.site.row import (
    Row,
    category,
    footnotes,
    members,
    plain,
)
from podium.compliance.tools.store.site.scatter import chip_colors, scatters, timed
from podium.compliance.tools.store.site.sources import Source
from podium.compliance.tools.store.site.strips import run_dots, strips
from podium.compliance.tools.store.site.tables import Span, matrices, spans
from podium.compliance.version import VERSION

PARTS = {
    "style.css": STYLE,
    "pages.js": (*SCRIPT, "ticks.js"),
    "search.js": ("search.js",),
    "compare.js": ("compare.js",),
}
"""The parts of the style sheet and the scripts of the pages."""

FILTERS: dict[str, Callable[..., Any]] = {
    "category": category,
    "chip": chip_family,
    "colour": colour,
    "members": members,
    "name": name_of,
    "plain": plain,
    "run_dots": run_dots,
    "seeds": seeds_of,
}

Made = tuple[AnalysisPage, Analysis]

_NEEDLESS = re.compile(r"\s*</(?:td|th|tr|li|dt|dd)>\s*")
"""End tags that are optional in HTML: a tenth of all bytes. Names contain no tags."""


class Pages:
    """The pages of one store; each method returns (file, text) of its pages."""

    def __init__(self, material: Material, source: Source, analyses: Sequence[Made]) -> None:
        self.material, self.made = material, analyses
        rounds = sorted({(row["suite"], row["round"]) for row in material.results}, key=_in_order)
        self.newest = dict(rounds)
        self.places = places_of(material)
        self.environment = environment(__package__, FILTERS)
        self.known: dict[str, Any] = {
            "places": self.places,
            "unofficial": UNOFFICIAL,
            "version": VERSION,
            "source": source,
        }

    def _render(self, template: str, current_page: str, **fields: Any) -> str:
        page_template = self.environment.get_template(template)
        root_path = "../" * current_page.count("/")
        text = (
            page_template.render(here=current_page, up=root_path, **self.known, **fields).rstrip()
            + "\n"
        )
        return _NEEDLESS.sub("", text)

    def assets(self) -> Iterator[tuple[str, str]]:
        """The style sheet, the scripts, and the index of the search."""
        for name, files in PARTS.items():
            yield name, joined(__package__, files)
        yield "search-data.js", search_script(self.material, self.places)

    def fixed(self) -> Iterator[tuple[str, str]]:
        """The pages that every site has."""
        results = self.material.results
        by_submitter = Counter(row["submitter"] for row in results)
        fields: dict[str, dict[str, Any]] = {
            "index.html": {
                "matrices": matrices(results),
                "results": results,
                "overviews": [*overviews(results)],
                "sizes": {row["result"]: row for row in results},
            },
            "submitters.html": {"counts": by_submitter, "rounds": self._rounds_of("submitter")},
            "systems.html": {"systems": [*self._systems()]},
            "analyses.html": {"kinds": self.made},
            "search.html": {},
            "compare.html": {},
            "about.html": {"material": self.material},
        }
        for name, page_fields in fields.items():
            yield name, self._render(f"{name}.j2", name, **page_fields)

    def _rounds_of(self, column: str) -> dict[str, list[tuple[str, str]]]:
        rounds_by_value: dict[str, dict[tuple[str, str], None]] = {}
        for row in self.material.results:
            rounds_by_value.setdefault(row[column], {})[row["suite"], row["round"]] = None
        return {name: [*rounds] for name, rounds in rounds_by_value.items()}

    def _systems(self) -> Iterator[dict[str, Any]]:
        counts = Counter((row["submitter"], row["system"]) for row in self.material.results)
        for key, descriptions in self.material.systems.items():
            rounds = sorted({(row["suite"], row["round"]) for row in descriptions})
            yield {
                "key": key,
                "last": descriptions[-1] if descriptions else None,
                "results": counts[key],
                "rounds": sorted(rounds, key=lambda item: (item[0], round_order(item[1]))),
            }

    def benchmarks(self) -> Iterator[tuple[str, str]]:
        """A page for each benchmark, with all results of all rounds."""
        for (suite, model), file in self.places.models.items():
            rows = [
                row
                for row in self.material.results
                if (row["suite"], row["model"]) == (suite, model)
            ]
            rows.sort(key=newest_and_fastest)
            colors = chip_colors([row for row in comparable(rows) if timed(row)])
            fields = {
                "suite": suite,
                "model": model,
                "results": rows,
                "plots": [*scatters(rows, colors, model)],
                "legend": [(kind, family) for family, kind in colors.items()],
                "over": [_over_rounds(span) for span in spans(rows)][::-1],
                "sizes": at_sizes(rows),
            }
            yield file, self._render("benchmark.html.j2", file, **fields)

    def submitters(self, counts: Tally) -> Iterator[tuple[str, str]]:
        """A page for each submitter; `counts` has the findings of all rounds."""
        findings = counted(counts)
        for name, file in self.places.submitters.items():
            fields = {
                "name": name,
                "results": sorted(
                    (row for row in self.material.results if row["submitter"] == name),
                    key=newest_of_each,
                ),
                "systems": [key for key in self.material.systems if key[0] == name],
                "findings": findings.get(name, []),
            }
            yield file, self._render("submitter.html.j2", file, **fields)

    def systems(self) -> Iterator[tuple[str, str]]:
        """A page for each system, with its description in each round."""
        for key, file in self.places.systems.items():
            fields = {
                "key": key,
                "described": self.material.systems[key],
                "results": sorted(
                    (
                        row
                        for row in self.material.results
                        if (row["submitter"], row["system"]) == key
                    ),
                    key=newest_of_each,
                ),
            }
            yield file, self._render("system.html.j2", file, **fields)

    def results(self, rows: Sequence[Row], details: OfRound) -> Iterator[tuple[str, str]]:
        """A page for each result of one round."""
        for row in rows:
            path = row["result"]
            runs, file = details.runs.get(path, []), self.places.results[path]
            points = details.points.get(row["benchmark"], [])
            strip, peers = strips(row, rows, details.runs)
            fields = {
                "row": row,
                "runs": runs,
                "alike": alike(runs),
                "curves": [*curves(row, runs, details.evaluations.get(path, []), points)],
                "reference": convergence(row, points),
                "strips": strip,
                "peers": peers,
                "current": row["round"] == self.newest[row["suite"]],
                "margin": margin(row),
                "findings": grouped(details.findings.get(path, ())),
                "footnotes": footnotes(row),
            }
            yield file, self._render("result.html.j2", file, **fields)

    def analysis(self, kind: AnalysisPage, analysis: Analysis, *, charts: bool) -> tuple[str, str]:
        """The page of an analysis."""
        file = f"analyses/{kind.name}.html"
        figures = parts(analysis) if charts else []
        fields = {
            "kind": kind,
            "made": analysis,
            "columns": columns_of(analysis),
            "parts_of": figures,
        }
        return file, self._render("analysis.html.j2", file, **fields)


def _in_order(key: tuple[str, str]) -> tuple[str, tuple[int, ...]]:
    return key[0], round_order(key[1])


def _over_rounds(span: Span) -> tuple[Plot | None, Sequence[tuple[str, str]]]:
    """The best times over rounds, a line for each category, and its legend (class, category)."""
    legend = [(f"c{index % COLOURS}", category) for index, category in enumerate(span.best)]
    lines = [
        Line([(index, row["score"]) for index, row in span.best[name]], name, kind, dotted=True)
        for kind, name in legend
    ]
    rounds, minutes = Axis("round", names=span.rounds), Axis("minutes †", log=True)
    return plot(f"Rounds {span.name}", rounds, minutes, lines), legend
