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
    return slugs(sorted({result.benchmark for result in review.results}), "benchmark")


class _Pages:
    def __init__(self, review: Review, title: str, rules: RuleTexts, *, has_code: bool) -> None:
        self.review, self.texts = review, rules
        slug_by_benchmark = benchmark_slugs(review)
        self.benchmarks = [Page(name, f"{slug}.html") for name, slug in slug_by_benchmark.items()]
        slug_by_path = slugs([entry.path for entry in review.submissions], "submitter")
        self.files = {path: f"{slug}.html" for path, slug in slug_by_path.items()}
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

    def _render(self, template: str, current_page: str, **fields: Any) -> str:
        page_template = self.environment.get_template(template)
        return page_template.render(here=current_page, **self.known, **fields).rstrip() + "\n"

    def index(self, to_read: Mapping[tuple[str, str], int]) -> str:
        review = self.review
        causes = queue(review)
        names = [page.name for page in self.benchmarks]
        open_objections = [objection for objection in review.objections if objection.is_open]
        by_home = {entry.path: _counts(review, entry.path) for entry in review.submissions}
        submissions = [
            {"entry": entry, "file": self.files[entry.path], **by_home[entry.path]}
            for entry in review.submissions
        ]
        return self._render(
            "index.html.j2",
            "index.html",
            submissions=submissions,
            open=open_objections,
            queue=causes,
            kinds=[(kind, count) for kind in KINDS if (count := _kinds(causes)[kind])],
            matrix=matrix(review, names),
            to_read=to_read,
            near=[miss for miss in review.near_misses if not is_tie(miss.submission, miss.minimum)],
            files={
                **{objection.submission: "index.html" for objection in open_objections},
                **self.files,
            },
        )

    def benchmark(self, page: Page, pictures: Sequence[Picture], undrawn: str) -> str:
        results = [result for result in self.review.results if result.benchmark == page.name]
        by_submitter = {
            entry.submitter: self.files[entry.path] for entry in self.review.submissions
        }
        return self._render(
            "benchmark.html.j2",
            page.file,
            name=page.name,
            results=results,
            submitters={**{result.submitter: "index.html" for result in results}, **by_submitter},
            differing=_differing(results),
            pictures=pictures,
            undrawn=undrawn,
            asked={result.path: _asked(self.review.objections, result.path) for result in results},
            distance=distance,
            minutes_dots=minutes_dots,
            fastest=max(
                (result.speed.times for result in results if result.speed and result.speed.times),
                default=1.0,
            ),
        )

    def submitter(self, entry: Any) -> str:
        review, title = self.review, self.known["title"]
        objections = [objection for objection in review.objections if _is_of(objection, entry)]
        return self._render(
            "submitter.html.j2",
            self.files[entry.path],
            entry=entry,
            objections=sorted(objections, key=lambda objection: not objection.is_open),
            letters={
                objection.id: letter(objection, str(title), self._says) for objection in objections
            },
            whole=letters(entry.submitter, objections, str(title), review.confidential, self._says),
            notes=[note for note in review.notes if note.submission == entry.path],
            results=[result for result in review.results if result.submitter == entry.submitter],
            pages={page.name: page.file for page in self.benchmarks},
        )

    def rules(self) -> str:
        counts = Counter(
            objection.rule for objection in (*self.review.objections, *self.review.notes)
        )
        listed_rules = [
            {**self.texts[rule]._asdict(), "count": count}
            for rule, count in sorted(counts.items())
            if rule in self.texts
        ]
        return self._render("rules.html.j2", "rules.html", rules=listed_rules)

    def _says(self, rule: str) -> str:
        return self.texts[rule].says if rule in self.texts else ""


def _is_of(objection: Objection, entry: Any) -> bool:
    if objection.submission:
        return bool(objection.submission == entry.path)
    return bool(objection.submitter == entry.submitter)


def folders(evidence: Sequence[Evidence]) -> list[tuple[str, list[Evidence]]]:
    """Evidence by its folder, which is the result for logs."""
    by_folder: dict[str, list[Evidence]] = {}
    for entry in evidence:
        by_folder.setdefault(entry.path.rpartition("/")[0] or ".", []).append(entry)
    return [*by_folder.items()]


def _kinds(causes: Sequence[Cause]) -> Counter[str]:
    return Counter(cause.kind for cause in causes)


def _counts(review: Review, path: str) -> dict[str, int]:
    open_objections = [
        objection
        for objection in review.objections
        if objection.submission == path and objection.is_open
    ]
    return {
        "errors": sum(objection.severity == "error" for objection in open_objections),
        "anomalies": sum(objection.anomaly for objection in open_objections),
        "notes": sum(note.submission == path for note in review.notes),
    }


def _asked(objections: Sequence[Objection], path: str) -> int:
    """The number of open objections with evidence in a result."""
    return sum(
        objection.is_open
        and any(
            entry.path == path or entry.path.startswith(f"{path}/") for entry in objection.evidence
        )
        for objection in objections
    )


def _differing(results: Sequence[ResultEntry]) -> list[str]:
    """The settings that differ among results."""
    keys = {key: None for result in results for key in result.settings}
    return [
        key
        for key in keys
        if any(key not in result.settings or not result.settings[key].usual for result in results)
    ]
