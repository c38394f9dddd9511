"""Review a round: read it once, search for anomalies, compare it with the earlier review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.options import Options, Progress
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.grouping import own_findings
from podium.compliance.tools.review.against import EarlierReview, compared, followed
from podium.compliance.tools.review.anomalies.every import anomalies
from podium.compliance.tools.review.anomalies.peers import ranked
from podium.compliance.tools.review.anonymous import anonymised
from podium.compliance.tools.review.code.model import CodeReview
from podium.compliance.tools.review.code.session import CodeRequest, review_code
from podium.compliance.tools.review.material import Material, read_round
from podium.compliance.tools.review.model import NearMiss, Objection, Review, SubmissionEntry
from podium.compliance.tools.review.objections import OWN_FAULTS, objections_of, weight
from podium.compliance.tools.review.records import Manifest, manifest_of
from podium.compliance.tools.review.results import result_entries

MOST_NEAR = 50
"""Maximum number of results in the list of near misses."""


class Reviewed(NamedTuple):
    """A review, the hash of each file, the report of the check with all findings, and the code."""

    review: Review
    files: Manifest
    outcome: Outcome
    code: CodeReview | None


def review_round(
    path: Path,
    options: Options,
    *,
    earlier: Sequence[Path] = (),
    before: EarlierReview | None = None,
    anonymous: bool = False,
    code: CodeRequest | None = None,
    progress: Progress | None = None,
) -> Reviewed:
    """Review a round.

    `before` is the review of an earlier state of the same round. `code` requests a review of the
    code. An anonymous review has no code, which names its authors, and no hashes, which published
    files share. Raises ComplianceError if a path has nothing to judge.
    """
    material = read_round(path, earlier, options, progress)
    findings = anomalies(material)
    runs = {result.place.display_path: len(result.runs) for result in material.results}
    causes = [*own_findings(material.outcome), *findings]
    candidates = objections_of(material.outcome, causes, runs)
    objections = [objection for objection in candidates if objection.severity != "note"]
    files: Manifest = manifest_of(material.homes)
    results = result_entries(material)
    outcome = material.outcome
    against = None
    if before is not None:
        objections = followed(
            objections, before, [submission.path for submission in outcome.submissions]
        )
        objections.sort(key=weight)
        rules = (outcome.rules.usage, outcome.rules.round)
        against = compared(results, files, objections, before, rules)
    review = Review(
        rules=outcome.rules,
        earlier=[round_material.name for round_material in material.earlier],
        submissions=_submissions(material, objections),
        results=results,
        near_misses=_near(material),
        objections=objections,
        notes=[objection for objection in candidates if objection.severity == "note"],
        against=against,
    )
    full_outcome = replace(outcome, findings=[*outcome.findings, *findings])
    if anonymous:
        return Reviewed(anonymised(review, files, material), {}, full_outcome, None)
    return Reviewed(review, files, full_outcome, _code(material, code))


def _code(material: Material, request: CodeRequest | None) -> CodeReview | None:
    if request is None:
        return None
    earlier = [round_material.code for round_material in material.earlier]
    try:
        return review_code(material.code, request, earlier=earlier)
    except UsageFault as error:
        # The rest of the review does not need git
        return CodeReview(problem=f"The code is not compared: {error}")


def _submissions(material: Material, objections: Sequence[Objection]) -> list[SubmissionEntry]:
    outcome = material.outcome
    results = Counter(result.place.submitter for result in material.results)
    open_counts = Counter(objection.submission for objection in objections if objection.is_open)
    faults = {
        finding.path: finding.message for finding in outcome.findings if finding.id in OWN_FAULTS
    }
    return [
        SubmissionEntry(
            submitter=entry.submitter,
            path=entry.path,
            verdict=entry.verdict,
            official_verdict=entry.official_verdict,
            results=results[entry.submitter],
            objections=open_counts[entry.path],
            problem=faults.get(entry.path, ""),
        )
        for entry in outcome.submissions
    ]


def _near(material: Material) -> list[NearMiss]:
    misses = []
    for margin, result in ranked(material)[:MOST_NEAR]:
        reference = result.convergence
        if reference.submission is not None and reference.minimum is not None:
            misses.append(
                NearMiss(
                    path=result.place.display_path,
                    submitter=result.place.submitter,
                    benchmark=result.place.benchmark,
                    margin=margin,
                    submission=reference.submission,
                    minimum=reference.minimum,
                    unit=reference.unit,
                )
            )
    return misses
