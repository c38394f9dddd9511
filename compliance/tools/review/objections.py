"""Objections: what each submitter is asked, all findings of one rule in a submission together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from podium.compliance.judging.logs.log_rules import CRASHED, PROCESS_LOST
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.grouping import homes, own_findings
from podium.compliance.reporting.pages.templates import plain_name
from podium.compliance.reporting.render.markdown import escape
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.model import Evidence, Objection
from podium.compliance.tools.review.review_rules import ANOMALIES, SUPERSEDED
from podium.rules.finding import RANK, Finding, Severity, matches

OWN_FAULTS = frozenset({CRASHED.id, PROCESS_LOST.id})
"""Findings that are podium's own fault: nobody is asked about them."""


def objections_of(outcome: Outcome, found: Iterable[Finding]) -> list[Objection]:
    """The findings of a report and of a review as objections, the heaviest first.

    What is waived, or follows from another finding, is not asked about.
    """
    home = homes(outcome)
    submitters = {entry.path: entry.submitter for entry in outcome.submissions}
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in [*own_findings(outcome), *found]:
        if not finding.waived and finding.id not in SUPERSEDED | OWN_FAULTS:
            groups[home(finding.path), finding.id, finding.key or ""].append(finding)
    made = [
        _objection(submitters.get(place, ""), place, findings)
        for (place, *_), findings in groups.items()
    ]
    return sorted(made, key=weight)


def weight(objection: Objection) -> tuple[str, int, bool, bool, int, str]:
    """The order of objections: by submitter, then by gravity."""
    rank = RANK[Severity(objection.severity)]
    places = -len(objection.evidence)
    heavy = (rank, not objection.official, not objection.anomaly, places)
    return (objection.submitter, *heavy, objection.id)


def _objection(submitter: str, place: str, findings: Sequence[Finding]) -> Objection:
    ordered = sorted(findings, key=lambda each: (RANK[each.severity], *each.sort_key()))
    first = ordered[0]
    return Objection(
        id=objection_id(submitter, place, first.id, first.key or ""),
        submitter=submitter,
        submission=place,
        rule=first.id,
        severity=first.severity.value,
        anomaly=matches(first.id, ANOMALIES),
        message=clean(first.message),
        ask=clean(first.hint),
        cites=first.cites,
        official=any(each.official for each in findings),
        evidence=[
            Evidence(path=clean(each.path), message=clean(each.message), line=each.line)
            for each in ordered
        ],
    )


def objection_id(submitter: str, place: str, rule: str, key: str) -> str:
    """The name of an objection, and of its file: the same for every state of a round."""
    # A rule's key is mostly the end of its name
    about = rule if not key or rule.endswith(f".{key}") else f"{rule}.{key}"
    whole = "\0".join((place, rule, key))
    mark = hashlib.blake2b(whole.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{plain_name(submitter)}-{plain_name(about)}-{mark}"


def about(objection: Objection) -> str:
    """What an objection is about, in a word: its rule, where a rule found it."""
    return objection.rule or "a reviewer's own"


Says = Callable[[str], str]
"""What a rule demands, in one sentence, by its id; empty where nothing is known of it."""


def letter(objection: Objection, title: str, says: Says, most: int = 20) -> str:
    """A mail or an issue about one objection, as Markdown without markup in what logs say.

    `title` is that of the round; at most so many places are listed.
    """
    places = len(objection.evidence)
    many = f" ({places} places)" if places > 1 else ""
    lines = [f"**{title} review, {escape(objection.submitter)}: {about(objection)}{many}**", ""]
    lines += ["We looked at your submission and found:", ""]
    for each in objection.evidence[:most]:
        at = each.path if each.line is None else f"{each.path}:{each.line}"
        lines += _indented(f"{at}: {each.message}")
    if not places:
        lines += _indented(objection.message)
    if places > most:
        lines.append(f"    … and {places - most} more places, listed in review.json")
    lines.append("")
    demand = says(objection.rule)
    if demand:
        lines += [f"The rule: {demand}. ({objection.cites})", ""]
    elif objection.cites:
        lines += [f"The rule: {objection.cites}.", ""]
    if objection.official:
        lines += ["The official verifier rejects for this.", ""]
    lines += [f"What we ask: {objection.ask or 'please explain, or correct it'}.", ""]
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    """A text as a line of code: Markdown follows nothing in it."""
    return [f"    {clean(text)}"]


def letters(
    submitter: str, objections: Sequence[Objection], title: str, notice: str, says: Says
) -> str:
    """All that a submitter is asked, ready to be sent: one part for each objection."""
    own = [each for each in objections if each.submitter == submitter]
    asked = [each for each in own if each.is_open]
    lines = [f"# {escape(submitter)}: objections in review of {title}", "", notice, ""]
    if not asked:
        lines += ["Nothing is open.", ""]
    for each in asked:
        lines += [f"## {about(each)}", "", f"`{each.id}`: {each.severity}, {each.state}", ""]
        lines += [letter(each, title, says)]
    settled = [each for each in own if not each.is_open]
    if settled:
        lines += ["## Settled", ""]
        lines += [f"- `{each.id}`: {each.state}" for each in settled]
        lines.append("")
    return "\n".join(lines)
