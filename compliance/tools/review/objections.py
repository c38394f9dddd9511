"""Objections: requests to submitters, one for all findings of a rule in a submission."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from podium.compliance.judging.logs.log_rules import CRASHED, PROCESS_LOST
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.grouping import homes
from podium.compliance.reporting.pages.templates import plain_name
from podium.compliance.reporting.render.markdown import escape
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.evidence import folded
from podium.compliance.tools.review.evidence import lines as evidence_lines
from podium.compliance.tools.review.kinds import KINDS, kind_of
from podium.compliance.tools.review.model import Evidence, Objection
from podium.compliance.tools.review.review_rules import ANOMALIES, SUPERSEDED
from podium.rules.finding import RANK, Finding, Severity, matches

OWN_FAULTS = frozenset({CRASHED.id, PROCESS_LOST.id})
"""Findings about faults of podium itself: they are not objections."""


RAISED = frozenset({"result.other-code", "result.unfinished-run-dropped"})
"""Notes of the check that become objections: two versions of the code, a run that died."""

_MORE = re.compile(r"\d+ more findings of this rule ")


def objections_of(
    outcome: Outcome, findings: Iterable[Finding], runs: Mapping[str, int]
) -> list[Objection]:
    """The findings of a report and of a review as objections, one for each rule in a submission.

    Waived findings are omitted. `runs` has the number of runs of each result, by its path.
    """
    home = homes(outcome)
    submitters = {entry.path: entry.submitter for entry in outcome.submissions}
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        if not finding.waived and finding.id not in SUPERSEDED | OWN_FAULTS:
            groups[home(finding.path), finding.id].append(finding)
    objections = [
        _objection(submitters.get(path, ""), path, findings, runs)
        for (path, _), findings in groups.items()
    ]
    return sorted(objections, key=weight)


def weight(objection: Objection) -> tuple[str, int, int, bool, bool, str]:
    """The sort key of objections: by submitter, then by kind, then by severity."""
    return (objection.submitter, *gravity(objection), objection.id)


def gravity(objection: Objection) -> tuple[int, int, bool, bool]:
    """The sort key of a round's objections; the number of places does not matter."""
    rank = RANK[Severity(objection.severity)]
    kind = KINDS.index(objection.kind)
    return (kind, rank, not objection.official, not objection.anomaly)


def first_looked_at(objection: Objection) -> tuple[int, int, bool, bool, str, str]:
    """The sort key of objections for a reviewer of the whole round."""
    return (*gravity(objection), objection.submitter, objection.id)


def _objection(
    submitter: str, path: str, findings: Sequence[Finding], runs: Mapping[str, int]
) -> Objection:
    ordered = sorted(findings, key=_order)
    first = ordered[0]
    evidence = [
        Evidence(path=clean(finding.path), message=clean(finding.message), line=finding.line)
        for finding in ordered
    ]
    raised = first.id in RAISED and first.severity is Severity.NOTE
    return Objection(
        id=objection_id(submitter, path, first.id),
        submitter=submitter,
        submission=path,
        rule=first.id,
        kind=kind_of(first.id),
        severity="warning" if raised else first.severity.value,
        anomaly=matches(first.id, ANOMALIES),
        message=clean(first.message),
        ask=clean(_ask(first, runs)),
        cites=first.cites,
        official=any(finding.official for finding in findings),
        evidence=evidence,
        folded=folded(evidence, runs),
    )


def _order(finding: Finding) -> tuple[bool, int, str, int, str, str]:
    """The most severe first; a finding that only counts further findings comes last."""
    is_summary = _MORE.match(finding.message) is not None
    return (is_summary, RANK[finding.severity], *finding.sort_key())


def _ask(finding: Finding, runs: Mapping[str, int]) -> str:
    """The request to the submitter: a log of a past run is explained, not corrected."""
    of_log = finding.path.rpartition("/")[0] in runs
    if not of_log or matches(finding.id, ANOMALIES) or not finding.hint:
        return finding.hint
    return f"explain it or replace the run; for a new run: {finding.hint}"


def objection_id(submitter: str, path: str, rule: str) -> str:
    """The id of an objection and the name of its file, the same for every state of a round."""
    identity = f"{path}\0{rule}"
    mark = hashlib.blake2b(identity.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{plain_name(submitter)}-{plain_name(rule)}-{mark}"


def about(objection: Objection) -> str:
    """The subject of an objection: its rule, if a rule found it."""
    return objection.rule or "a reviewer's objection"


Says = Callable[[str], str]
"""Maps the id of a rule to its requirement, one sentence; empty for an unknown rule."""


def letter(objection: Objection, title: str, says: Says, most: int = 20) -> str:
    """A mail or an issue about one objection, as Markdown; values from logs are escaped.

    `title` is the title of the round; at most `most` lines of evidence are listed.
    """
    count = len(objection.evidence)
    places_text = f" ({count} places)" if count > 1 else ""
    lines = [
        f"**{title} review, {escape(objection.submitter)}: {about(objection)}{places_text}**",
        "",
    ]
    lines += ["We reviewed your submission and found:", ""]
    evidence = [*evidence_lines(objection.folded)]
    for line in evidence[:most]:
        lines += _indented(line)
    if not evidence:
        lines += _indented(objection.message)
    if len(evidence) > most:
        lines.append(f"    … and {len(evidence) - most} more, listed in review.json")
    lines.append("")
    demand = says(objection.rule)
    if demand:
        lines += [f"The rule: {demand}. ({objection.cites})", ""]
    elif objection.cites:
        lines += [f"The rule: {objection.cites}.", ""]
    if objection.official:
        lines += ["The official verifier rejects the submission for this.", ""]
    lines += [f"Our request: {objection.ask or 'please explain or correct it'}.", ""]
    return "\n".join(lines)


def _indented(text: str) -> list[str]:
    """A text as a line of code, in which Markdown has no effect."""
    return [f"    {clean(text)}"]


def letters(
    submitter: str, objections: Sequence[Objection], title: str, notice: str, says: Says
) -> str:
    """All requests to one submitter, ready to be sent: one section for each objection."""
    addressed = [objection for objection in objections if objection.submitter == submitter]
    open_objections = [objection for objection in addressed if objection.is_open]
    lines = [f"# {escape(submitter)}: objections in review of {title}", "", notice, ""]
    if not open_objections:
        lines += ["No open objections.", ""]
    for objection in open_objections:
        lines += [
            f"## {about(objection)}",
            "",
            f"`{objection.id}`: {objection.severity}, {objection.state}",
            "",
        ]
        lines += [letter(objection, title, says)]
    settled = [objection for objection in addressed if not objection.is_open]
    if settled:
        lines += ["## Settled", ""]
        lines += [f"- `{objection.id}`: {objection.state}" for objection in settled]
        lines.append("")
    return "\n".join(lines)
