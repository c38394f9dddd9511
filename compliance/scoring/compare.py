"""What changed between two sets of scores, where the rounds may be compared at all.

Source: MLCommons' table of compatible results; only within one span of rounds does a benchmark stay
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from podium.rules.round import version_of

if TYPE_CHECKING:
    from podium.compliance.scoring.report import ScoreEntry, Scores

_Span = tuple[str, str]

_SPANS: dict[tuple[str, str], tuple[_Span, ...]] = {
    ("training", "resnet"): (("0.5", "0.5"), ("0.6", "4.0")),
    ("training", "ssd_resnet34"): (("0.5", "0.5"), ("0.6", "1.1")),
    ("training", "retinanet"): (("2.0", "5.1"),),
    ("training", "maskrcnn"): (("0.5", "0.5"), ("0.6", "3.1")),
    ("training", "gnmt"): (("0.5", "0.7"),),
    ("training", "transformer"): (("0.5", "0.7"),),
    ("training", "minigo"): (("0.5", "2.1"),),
    ("training", "dlrm"): (("0.7", "2.1"),),
    ("training", "dlrm_dcnv2"): (("3.0", "6.0"),),
    ("training", "bert"): (("1.0", "5.0"),),
    ("training", "rnnt"): (("1.0", "1.0"), ("1.1", "3.1")),
    ("training", "unet3d"): (("1.0", "4.0"),),
    ("training", "gpt3"): (("3.0", "4.1"),),
    ("training", "stable_diffusion"): (("3.1", "5.0"),),
    ("training", "llama2_70b_lora"): (("4.0", "6.0"),),
    ("training", "rgat"): (("4.0", "5.1"),),
    ("training", "llama31_405b"): (("5.0", "6.0"),),
    ("training", "llama31_8b"): (("5.1", "6.0"),),
    ("training", "flux1"): (("5.1", "6.0"),),
    ("hpc", "deepcam"): (("0.7", "1.0"),),
}
"""Spans of more than one round, and where a benchmark stands in more than one: the table's."""

_NAMES = {"mask": "maskrcnn", "mask_rcnn": "maskrcnn", "gnn": "rgat", "ssd300": "ssd"}


@dataclass(frozen=True, slots=True)
class Change:
    """One result then and now; `why` says why no change is given, where none is."""

    now: ScoreEntry | None
    then: ScoreEntry | None
    why: str = ""

    @property
    def relative(self) -> float | None:
        """By what share the score changed; throughput's is of models per minute."""
        if self.why or self.now is None or self.then is None:
            return None
        new, old = headline(self.now), headline(self.then)
        return None if new is None or not old else new / old - 1


def headline(entry: ScoreEntry) -> float | None:
    """The number that a result is compared by."""
    return entry.models_per_minute if entry.scaling == "weak" else entry.score


def comparable(first: str, second: str, benchmark: str, other: str) -> str:
    """Why results of two rounds (`training 5.0`) may not be compared; empty where they may."""
    (usage, old), (other_usage, new) = first.split(" ", 1), second.split(" ", 1)
    if usage != other_usage:
        return f"{usage} and {other_usage} results are not comparable"
    one, two = _common_name(usage, old, benchmark), _common_name(usage, new, other)
    if one != two:
        return f"{benchmark} of {old} and {other} of {new} are different benchmarks"
    if old == new:
        return ""
    both = sorted((version_of(old), version_of(new)))
    for low, high in _SPANS.get((usage, one), ()):
        if version_of(low) <= both[0] and both[1] <= version_of(high):
            return ""
    return f"results of {benchmark} in {old} and {new} are not compatible"


def _common_name(usage: str, round_name: str, benchmark: str) -> str:
    """The benchmark behind a name, which was given to another in the course of the rounds."""
    name = _NAMES.get(benchmark, benchmark)
    if usage == "training" and name == "ssd":
        return "ssd_resnet34" if version_of(round_name) < (2, 0) else "retinanet"
    return name


def changes(now: Scores, then: Scores) -> list[Change]:
    """Every result of both, matched by submitter, system, benchmark, division and metric."""
    old = {_identity(entry): entry for entry in then.results}
    found = []
    for entry in now.results:
        before = old.pop(_identity(entry), None)
        why = ""
        if before is None:
            why = "only in the first"
        else:
            why = comparable(before.round, entry.round, before.benchmark, entry.benchmark)
        found.append(Change(entry, before, why))
    found += [Change(None, entry, "only in the second") for entry in old.values()]
    return found


def _identity(entry: ScoreEntry) -> tuple[str, ...]:
    usage, round_name = entry.round.split(" ", 1)
    name = _common_name(usage, round_name, entry.benchmark)
    place = "" if entry.submitter and entry.system else entry.path
    return (entry.submitter, entry.system, place, name, entry.division, entry.scaling)
