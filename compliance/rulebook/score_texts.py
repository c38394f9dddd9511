"""What people are told about the rules of scores and of convergence."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.rulebook.package_texts import FixedText
from podium.rules.finding import Severity, StatedBy

_POLICY = StatedBy.POLICY


def _point(says: str, why: str, hint: str, severity: Severity = Severity.ERROR) -> FixedText:
    return FixedText(says, why, hint=hint, severity=severity, stated_by=_POLICY)


SCORE_TEXTS: Mapping[str, FixedText] = {
    "rcp.failed": FixedText(
        "a closed result converges no sooner than the reference convergence points allow",
        "who converges sooner than chance explains has changed the model, the data or the rules",
        hint="see `podium rcp check` for the arithmetic",
    ),
    "rcp.missing": FixedText(
        "a closed result's batch size lies within those of the reference convergence points",
        "a result at another batch size has nothing to be held against",
        hint="submit reference runs at this batch size, or choose another",
    ),
    "rcp.benchmark": _point(
        "a reference point names a benchmark of the round",
        "a point of another name is found by nobody",
        "name it as logs do",
    ),
    "rcp.duplicate-id": _point(
        "every reference point has a name of its own",
        "of two with one name a reader may take either",
        "name each once",
    ),
    "rcp.duplicate-batch-size": _point(
        "a benchmark has one reference point at a batch size",
        "a result would be held against either",
        "join their runs, or keep the one that converges sooner",
    ),
    "rcp.copied-values": _point(
        "every reference point has runs of its own",
        "the very same values at two batch sizes are a slip",
        "give the values of its own runs",
        Severity.WARNING,
    ),
    "rcp.too-few-runs": _point(
        "a reference point rests on twice the runs of a result",
        "fewer give no firm mean; where all are dropped at the ends there is none",
        "add runs",
        Severity.WARNING,
    ),
    "rcp.outlier": _point(
        "no run of a reference point lies far from the others",
        "a broken run widens what is accepted",
        "look at the logs of those runs",
        Severity.WARNING,
    ),
    "rcp.batch-size": _point(
        "a batch size is a whole number", "samples are counted", "mend the number"
    ),
    "rcp.unit": _point(
        "a reference point counts in the unit that logs of the benchmark have",
        "else every result fails, or none does",
        "give epochs or samples, as logs do",
    ),
    "rcp.hyperparameter": _point(
        "a reference point was run by the round's rules",
        "results must obey these rules; a reference outside them is another benchmark",
        "see `podium rules hparams` for what is legal",
        Severity.WARNING,
    ),
    "rcp.unused": _point(
        "a reference point is not undercut by the line between two others",
        "points above it are left out: no result is held against them",
        "nothing, if the others are right",
        Severity.NOTE,
    ),
    "rcp.pruning-differs": _point(
        "policy and official verifier use the same reference points",
        "the verifier's single pass does not always leave the lower hull",
        "see `podium rcp show` for which points each uses",
        Severity.NOTE,
    ),
    "rcp.no-spread": _point(
        "the runs of a reference point differ",
        "without any spread every faster mean fails",
        "evaluate more often, or add runs",
        Severity.NOTE,
    ),
    "rcp.no-minimum": _point(
        "the runs of a reference point differ little enough to set a limit",
        "else any mean passes",
        "add runs",
        Severity.WARNING,
    ),
}
"""The rules about scores, in the order pages list them."""
