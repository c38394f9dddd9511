"""The folder of a review: pages, `review.json`, and the files that track objections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from podium.compliance.files.atomic import draft_folder, refuse_occupied
from podium.compliance.reporting.json_text import json_text
from podium.compliance.reporting.pages.templates import slugs
from podium.compliance.tools.review.against import MANIFEST_FILE, REVIEW_FILE
from podium.compliance.tools.review.code.kept import CODE_FILE
from podium.compliance.tools.review.code.model import CodeReview
from podium.compliance.tools.review.code.read_marks import READ_FILE, ReadMark, marks_text
from podium.compliance.tools.review.model import Review
from podium.compliance.tools.review.objections import letters
from podium.compliance.tools.review.records import FOLDER, Manifest, record_of, record_text
from podium.compliance.tools.review.render.charts import (
    SCRIPT,
    Picture,
    data_script,
    drawable,
    pictures,
    script,
)
from podium.compliance.tools.review.render.html import RuleTexts, benchmark_slugs, render

README = """# Review of {title}

{notice}

Open index.html in a browser. It loads nothing from servers.

- `review.json`: the whole review as data (`podium rules schema review`).
{files}- `objections/ID.toml`: the state of each objection. Edit `state`, `by`, `date` and
  `comment`, and commit the folder: git merges the edits of several people.
- `objections/SUBMITTER.md`: the text to send to each submitter.
{next}"""

FILES = """- `files.json`: the hash of every file.
- `code.json`: the unread code; `read.toml`: who has read which file. Commit both.
"""
NEXT = """
For the next state of the round: `podium review ROUND --against THIS-FOLDER --output NEW-FOLDER`.
"""


def title_of(review: Review) -> str:
    """The round of a review, such as `training 5.1`."""
    return f"{review.rules.usage} {review.rules.round}"


def write_review(
    folder: Path,
    review: Review,
    files: Manifest,
    rules: RuleTexts,
    *,
    curves: bool = True,
    code: CodeReview | None = None,
    marks: Mapping[str, ReadMark] | None = None,
) -> str:
    """Write a review into a new folder, as a whole or not at all.

    Returns the reason why it has no curves; empty if it has curves.

    `code` is the review of the code, if any, and `marks` the files that are recorded as read.
    Raises UsageFault if the folder exists and is not empty, or cannot be created.
    """
    refuse_occupied(folder)
    undrawn = drawable() if curves else "Curves were not requested."
    with draft_folder(folder) as draft, ThreadPoolExecutor(1) as aside:
        drawn_pictures: dict[str, Sequence[Picture]] = {}
        if not undrawn:
            drawn_pictures = _draw(draft / "charts", review)
        # Bundling takes as long as the pages and releases Python's lock
        bundled = aside.submit(script) if any(drawn_pictures.values()) else None
        title = title_of(review)
        for name, text in render(review, title, drawn_pictures, undrawn, rules, code):
            _write(draft / name, text)
        _write(draft / REVIEW_FILE, json_text(review, None))
        if not review.anonymous:
            _write(draft / MANIFEST_FILE, json_text(files, None))
        if code is not None:
            _write(draft / CODE_FILE, json_text(code, None))
            _write(draft / READ_FILE, marks_text(marks or {}))
        _write(draft / "README.md", _readme(review, title))
        (draft / FOLDER).mkdir()
        for name, text in _objections(review, title, rules):
            _write(draft / FOLDER / name, text)
        if bundled is not None:
            _write(draft / "charts" / SCRIPT, bundled.result())
    return undrawn if curves else ""


def _readme(review: Review, title: str) -> str:
    files, following = ("", "") if review.anonymous else (FILES, NEXT)
    return README.format(title=title, notice=review.confidential, files=files, next=following)


def _draw(folder: Path, review: Review) -> dict[str, Sequence[Picture]]:
    folder.mkdir()
    by_benchmark: dict[str, Sequence[Picture]] = {}
    for benchmark, slug in benchmark_slugs(review).items():
        results = [result for result in review.results if result.benchmark == benchmark]
        light_pictures = []
        for picture in pictures(benchmark, slug, results):
            _write(folder / f"{picture.name}.svg", picture.svg)
            _write(folder / f"{picture.name}.js", data_script(picture))
            light_pictures.append(picture._replace(svg="", data={}))
        by_benchmark[benchmark] = light_pictures
    return by_benchmark


def _objections(review: Review, title: str, rules: RuleTexts) -> Iterator[tuple[str, str]]:
    def says(rule: str) -> str:
        return rules[rule].says if rule in rules else ""

    for objection in review.objections:
        yield f"{objection.id}.toml", record_text(record_of(objection))
    submitters = {submission.submitter for submission in review.submissions}
    names = sorted(submitters | {objection.submitter for objection in review.objections})
    for name, slug in slugs(names, "").items():
        text = letters(name, review.objections, title, review.confidential, says)
        yield f"{slug.removeprefix('-')}.md", text


def _write(path: Path, text: str) -> None:
    # Half a surrogate pair, from a name that is not UTF-8, is written as a question mark
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
