"""A summary of a review for a terminal or as Markdown: submissions, and where to look first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from podium.compliance.reporting.render.markdown import code, escape
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.review.model import Objection, Review
from podium.compliance.tools.review.objections import about, first_looked_at
from podium.compliance.tools.review.render.html import MOST_FIRST
from podium.compliance.tools.review.render.write import title_of

MOST_UNASKED = 10


def text(review: Review, width: int) -> str:
    """The review for a terminal with `width` columns."""
    lines = [clean(f"Review of {title_of(review)}: {_summary(review)}")]
    lines += wrap(review.confidential, width)
    names = [clean(entry.submitter) for entry in review.submissions]
    wide = min(max(map(len, ("submitter", *names))), 32)
    lines += ["", f"{'submitter':{wide}}  policy    official  results  open"]
    for name, entry in zip(names, review.submissions, strict=True):
        official = entry.official_verdict or "-"
        row = f"{name[:wide]:{wide}}  {entry.verdict:8}  {official:8}  {entry.results:7}"
        lines.append(f"{row}  {entry.objections:4}")
    open_objections = _opened(review)
    for title, part in (("Anomalies", True), ("Other objections", False)):
        chosen = [objection for objection in open_objections if objection.anomaly is part]
        if chosen:
            lines += ["", f"{title}:"]
            lines += [
                line for objection in chosen[:MOST_FIRST] for line in _objection(objection, width)
            ]
        if len(chosen) > MOST_FIRST:
            lines.append(f"  and {len(chosen) - MOST_FIRST} more")
    lines += _against(review, width)
    return "\n".join(lines) + "\n"


def _summary(review: Review) -> str:
    counts = (
        (len(review.submissions), "submission"),
        (len(review.results), "result"),
        (len(_opened(review)), "open objection"),
        (len(review.notes), "note"),
    )
    return ", ".join(plural(*count) for count in counts)


def _opened(review: Review) -> list[Objection]:
    open_objections = [objection for objection in review.objections if objection.is_open]
    return sorted(open_objections, key=first_looked_at)


def _objection(objection: Objection, width: int) -> Iterator[str]:
    count = f", {len(objection.evidence)} places" if len(objection.evidence) > 1 else ""
    change = f", {objection.change.kind}" if objection.change is not None else ""
    head = f"{objection.severity} {objection.submitter}: {about(objection)}{count}{change}"
    yield from wrap(clean(head), width, "  - ", "    ")
    first = objection.evidence[0] if objection.evidence else None
    if first is not None:
        position = first.path if first.line is None else f"{first.path}:{first.line}"
        yield from wrap(clean(position), width, "    ", "    ")
    yield from wrap(clean(objection.message), width, "    ", "    ")


def _against(review: Review, width: int) -> list[str]:
    if review.against is None:
        return []
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(review.against.counts.items()))
    lines = ["", f"Since the last review: {counts or 'no objections'}"]
    for result in review.against.results:
        for edit in result.edits:
            lines += wrap(clean(f"{result.path}: {edit}"), width, "  - ", "    ")
    unasked: Sequence[str] = review.against.unasked
    if unasked:
        lines.append(f"Changed without an objection ({len(unasked)}):")
        for path in unasked[:MOST_UNASKED]:
            lines += wrap(clean(path), width, "  - ", "    ")
    return lines


def markdown(review: Review) -> str:
    """The review as Markdown, for example for an issue or a job summary."""
    lines = [f"# Review of {escape(title_of(review))}", "", f"{escape(_summary(review))}.", ""]
    lines += [review.confidential, "", "| submitter | policy | official | results | open |"]
    lines.append("|---|---|---|--:|--:|")
    for entry in review.submissions:
        cells = (escape(entry.submitter), entry.verdict, entry.official_verdict or "-")
        lines.append(f"| {' | '.join(cells)} | {entry.results} | {entry.objections} |")
    open_objections = _opened(review)
    if open_objections:
        lines += ["", "| objection | places | found |", "|---|--:|---|"]
    for objection in open_objections:
        head = f"{objection.severity} {escape(objection.submitter)} {code(about(objection))}"
        lines.append(f"| {head} | {len(objection.evidence)} | {escape(objection.message)} |")
    if review.against is not None:
        lines += ["", "## Since the last review", ""]
        counts = Counter(review.against.counts)
        lines += [f"- {count} {kind}" for kind, count in sorted(counts.items())]
        for result in review.against.results:
            lines += [f"- {code(result.path)}: {escape(edit)}" for edit in result.edits]
        lines += [
            f"- changed without an objection: {code(path)}" for path in review.against.unasked
        ]
    return "\n".join(lines) + "\n"
