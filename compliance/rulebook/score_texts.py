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
    "score.invalid": FixedText(
        "a result has the runs that its score is made of, and they converge",
        "a mean without the fastest and slowest needs all its runs, and few may fail; instances of "
        "HPC's throughput must all converge and be of one scale",
        hint="see `podium score --explain` for what each run lacks",
        stated_by=_POLICY,
    ),
    "score.no-time": FixedText(
        "the runs of a result log run_start and run_stop",
        "time to train is what lies between the two",
        hint="log run_start and run_stop in every run",
        stated_by=_POLICY,
    ),
    "score.mixed-batch-sizes": FixedText(
        "all runs of a result have one global batch size",
        "runs of several batch sizes are several results",
        hint="repeat the runs that differ with the batch size of the others",
        stated_by=_POLICY,
    ),
    "score.absurd-convergence": FixedText(
        "the point of convergence of a run is of the size that the others have",
        "a slip in the unit, or a broken counter, hides how long the run trained",
        hint="log the unit of the benchmark with every evaluation",
        stated_by=_POLICY,
    ),
    "score.negative-time": FixedText(
        "run_stop comes after run_start",
        "a run that takes no time was not timed by one clock",
        hint="log both from one clock, in milliseconds since 1970",
        stated_by=_POLICY,
    ),
    "score.factor-differs": FixedText(
        "scaling.json gives the factor that the reference convergence points imply",
        "the committee may set another; it should be known that it did",
        hint="remove the file to use the other factor",
        severity=Severity.WARNING,
        stated_by=_POLICY,
    ),
    "score.broken-run-counted": FixedText(
        "the logs of the runs that are scored break no rule",
        "only a run that did not converge may be dropped as the slowest; the official summary "
        "drops any whose log it rejects",
        hint="see `podium check`",
        severity=Severity.WARNING,
        stated_by=_POLICY,
    ),
    "score.wide-spread": FixedText(
        "the times of a result's runs lie as close together as is usual",
        "far outliers tell of pauses or slow nodes, and are asked about in review",
        hint="look for pauses or slow nodes",
        severity=Severity.NOTE,
        stated_by=_POLICY,
    ),
    "score.no-energy": FixedText(
        "power logs give the energy of every run that is scored",
        "a result's energy is the mean over the runs of its score",
        hint="see what `podium check` finds in the power folder",
        severity=Severity.WARNING,
        stated_by=_POLICY,
    ),
}
"""The rules about scores, in the order pages list them."""
