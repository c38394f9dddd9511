"""The pages of a review: they load nothing from servers and are readable without scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from podium.compliance.reporting.pages.templates import (
    SCRIPT,
    STYLE,
    environment,
    joined,
    slugs,
)
from podium.compliance.text.chips import chip_family
from podium.compliance.tools.review.code.model import CodeReview
from podium.compliance.tools.review.kinds import KINDS
from podium.compliance.tools.review.model import Evidence, Objection, ResultEntry, Review
from podium.compliance.tools.review.objections import about, letter, letters
from podium.compliance.tools.review.render.charts import Picture
from podium.compliance.tools.review.render.code_pages import code_pages
from podium.compliance.tools.review.render.queue import (
    Cause,
    distance,
    is_tie,
    matrix,
    minutes_dots,
    queue,
)

MOST_EVIDENCE = 50
"""Maximum number of places of one objection on a page."""

MOST_FIRST = 20
"""Maximum number of objections in the overview."""

PARTS = {
    "style.css": (*STYLE, "review.css", "code.css"),
    "review.js": (*SCRIPT, "review.js"),
}
"""The parts of the style sheet and the script of the pages."""


NO_CODE: Mapping[tuple[str, str], int] = MappingProxyType({})


class RuleText(NamedTuple):
    """The text of a rule on the page of rules; `rate` counts published results that violate it."""

    id: str
    says: str
    why: str
    help: str
    rate: str


class Page(NamedTuple):
    """The page of a benchmark or a submission."""

    name: str
    file: str


RuleTexts = Mapping[str, RuleText]


def render(
    review: Review,
    title: str,
    pictures: Mapping[str, Sequence[Picture]],
    undrawn: str,
    rules: RuleTexts,
    code: CodeReview | None = None,
) -> Iterator[tuple[str, str]]:
    """(file, text) of every page.

    `pictures` are those of each benchmark; `undrawn` is the reason if there are none.
    """
    pages = _Pages(review, title, rules, has_code=code is not None)
    to_read = NO_CODE if code is None else code.by_cell
    yield from assets()
    yield "index.html", pages.index(to_read)
    yield "rules.html", pages.rules()
    for page in pages.benchmarks:
        yield page.file, pages.benchmark(page, pictures.get(page.name, ()), undrawn)
    for entry in review.submissions:
        yield pages.files[entry.path], pages.submitter(entry)
    if code is not None:
        yield from code_pages(code, pages.known)


def assets() -> Iterator[tuple[str, str]]:
    """(file, text) of the assets that all pages load."""
    for name, parts in PARTS.items():
        yield name, joined(__package__, parts)


def benchmark_slugs(review: Review) -> dict[str, str]:
    """The name of each benchmark's files."""
    return slugs(sorted({each.benchmark for each in review.results}), "benchmark")


class _Pages:
    def __init__(self, review: Review, title: str, rules: RuleTexts, *, has_code: bool) -> None:
        self.review, self.texts = review, rules
        named = benchmark_slugs(review)
        self.benchmarks = [Page(name, f"{slug}.html") for name, slug in named.items()]
        places = slugs([entry.path for entry in review.submissions], "submitter")
        self.files = {path: f"{slug}.html" for path, slug in places.items()}
        self.environment = environment(
            __package__, {"about": about, "family": chip_family, "folders": folders}
        )
        self.known = {
            "review": review,
            "title": title,
            "benchmarks": self.benchmarks,
            "most": MOST_EVIDENCE,
            "has_code": has_code,
        }

    def _render(self, template: str, here: str, **fields: Any) -> str:
        made = self.environment.get_template(template)
        return made.render(here=here, **self.known, **fields).rstrip() + "\n"

    def index(self, to_read: Mapping[tuple[str, str], int]) -> str:
        review = self.review
        causes = queue(review)
        names = [page.name for page in self.benchmarks]
        opened = [each for each in review.objections if each.is_open]
        by_home = {entry.path: _counts(review, entry.path) for entry in review.submissions}
        submissions = [
            {"entry": entry, "file": self.files[entry.path], **by_home[entry.path]}
            for entry in review.submissions
        ]
        return self._render(
            "index.html.j2",
            "index.html",
            submissions=submissions,
            open=opened,
            queue=causes,
            kinds=[(kind, count) for kind in KINDS if (count := _kinds(causes)[kind])],
            matrix=matrix(review, names),
            to_read=to_read,
            near=[each for each in review.near_misses if not is_tie(each.submission, each.minimum)],
            files={**{each.submission: "index.html" for each in opened}, **self.files},
        )

    def benchmark(self, page: Page, pictures: Sequence[Picture], undrawn: str) -> str:
        results = [each for each in self.review.results if each.benchmark == page.name]
        by_submitter = {
            entry.submitter: self.files[entry.path] for entry in self.review.submissions
        }
        return self._render(
            "benchmark.html.j2",
            page.file,
            name=page.name,
            results=results,
            submitters={**{each.submitter: "index.html" for each in results}, **by_submitter},
            differing=_differing(results),
            pictures=pictures,
            undrawn=undrawn,
            asked={each.path: _asked(self.review.objections, each.path) for each in results},
            distance=distance,
            minutes_dots=minutes_dots,
            fastest=max(
                (each.speed.times for each in results if each.speed and each.speed.times),
                default=1.0,
            ),
        )

    def submitter(self, entry: Any) -> str:
        review, title = self.review, self.known["title"]
        own = [each for each in review.objections if _is_of(each, entry)]
        return self._render(
            "submitter.html.j2",
            self.files[entry.path],
            entry=entry,
            objections=sorted(own, key=lambda each: not each.is_open),
            letters={each.id: letter(each, str(title), self._says) for each in own},
            whole=letters(entry.submitter, own, str(title), review.confidential, self._says),
            notes=[each for each in review.notes if each.submission == entry.path],
            results=[each for each in review.results if each.submitter == entry.submitter],
            pages={page.name: page.file for page in self.benchmarks},
        )

    def rules(self) -> str:
        counts = Counter(each.rule for each in (*self.review.objections, *self.review.notes))
        shown = [
            {**self.texts[rule]._asdict(), "count": count}
            for rule, count in sorted(counts.items())
            if rule in self.texts
        ]
        return self._render("rules.html.j2", "rules.html", rules=shown)

    def _says(self, rule: str) -> str:
        return self.texts[rule].says if rule in self.texts else ""


def _is_of(objection: Objection, entry: Any) -> bool:
    if objection.submission:
        return bool(objection.submission == entry.path)
    return bool(objection.submitter == entry.submitter)


def folders(evidence: Sequence[Evidence]) -> list[tuple[str, list[Evidence]]]:
    """Evidence by its folder, which is the result for logs."""
    found: dict[str, list[Evidence]] = {}
    for each in evidence:
        found.setdefault(each.path.rpartition("/")[0] or ".", []).append(each)
    return [*found.items()]


def _kinds(causes: Sequence[Cause]) -> Counter[str]:
    return Counter(each.kind for each in causes)


def _counts(review: Review, path: str) -> dict[str, int]:
    opened = [each for each in review.objections if each.submission == path and each.is_open]
    return {
        "errors": sum(each.severity == "error" for each in opened),
        "anomalies": sum(each.anomaly for each in opened),
        "notes": sum(each.submission == path for each in review.notes),
    }


def _asked(objections: Sequence[Objection], path: str) -> int:
    """The number of open objections with evidence in a result."""
    return sum(
        each.is_open
        and any(place.path == path or place.path.startswith(f"{path}/") for place in each.evidence)
        for each in objections
    )


def _differing(results: Sequence[ResultEntry]) -> list[str]:
    """The settings that differ among results."""
    keys = {key: None for each in results for key in each.settings}
    return [
        key
        for key in keys
        if any(key not in each.settings or not each.settings[key].usual for each in results)
    ]
