"""All kinds of anomalies, and their findings in a round."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from podium.compliance.judging.files import internal_fault
from podium.compliance.tools.review.anomalies import (
    clocks,
    code,
    descriptions,
    numbers,
    peers,
    runs,
    stretches,
)
from podium.compliance.tools.review.material import Material
from podium.rules.finding import Finding

Finder = Callable[[Material], Iterator[Finding]]

FINDERS: tuple[Finder, ...] = (
    runs.overlapping,
    stretches.copied_stretches,
    clocks.clocks,
    peers.outlying,
    peers.outlier_runs,
    clocks.slow_starts,
    peers.outside_band,
    peers.near_misses,
    runs.reused,
    runs.missing,
    numbers.missing_numbers,
    code.code,
    descriptions.changing,
)
"""Each searches the whole round for violations of its rules."""


def anomalies(material: Material) -> list[Finding]:
    """The anomalies of a round; a finder that fails does not hide the findings of the others."""
    findings: list[Finding] = []
    for finder in FINDERS:
        try:
            findings += finder(material)
        except Exception as error:
            findings.append(internal_fault(".", error))
    return findings
