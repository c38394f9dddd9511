"""The rules of scores, as values.

Each profile works out a score of its own, so that what keeps it from one weighs the same in both.
"""

from __future__ import annotations

from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import policy, policy_in_both

_RUNS = "training rules, Benchmark Results"
_POINTS = "training rules, Reference Convergence Points (RCPs)"
_TIMING = "training rules, Run Results"

_GOOD = "three runs of llama31_405b converge in 30, 31 and 32 minutes at one batch size"


INVALID = policy_in_both(
    "score.invalid",
    says="a result has the runs that its score is made of, and they converge",
    why="a mean without the fastest and slowest needs all its runs, and few may fail; instances of "
    "HPC's throughput must all converge and be of one scale",
    message="no valid score: {problem}",
    help="{fix}; `podium score --explain` says what each run lacks",
    cites=f"{_RUNS}; HPC rules, Throughput",
    bad="two of three runs of llama31_405b end with the status aborted",
    good=_GOOD,
)

NO_TIME = policy_in_both(
    "score.no-time",
    says="the runs of a result log run_start and run_stop",
    why="time to train is what lies between the two",
    message="no run has a time: run_start or run_stop is missing",
    help="log run_start and run_stop in every run",
    cites=_TIMING,
    bad="HPC's instances converge, and none logs run_start",
    good=_GOOD,
)

MIXED_BATCH_SIZES = policy_in_both(
    "score.mixed-batch-sizes",
    says="all runs of a result have one global batch size",
    why="runs of several batch sizes are several results",
    message="the runs are of several global batch sizes ({sizes}); all must have the same",
    help="repeat the runs that differ with the batch size of the others",
    cites=_POINTS,
    bad="two runs have the global batch size 1152, the third 9216",
    good=_GOOD,
)

ABSURD_CONVERGENCE = policy_in_both(
    "score.absurd-convergence",
    says="the point of convergence of a run is of the size that the others have",
    why="a slip in the unit, or a broken counter, hides how long the run trained",
    message="the run says that it converged after {at:g} {unit}: {why}",
    help="log the {unit} trained so far with every evaluation",
    actual="at",
    cites=_POINTS,
    bad="a run logs its evaluations with a samples_count of 1000000000000",
    good=_GOOD,
)

NEGATIVE_TIME = policy_in_both(
    "score.negative-time",
    says="run_stop comes after run_start",
    why="a run that takes no time was not timed by one clock",
    message="run_stop is {before:g} minutes before run_start",
    help="log both from one clock, in milliseconds since 1970",
    actual="minutes",
    cites=_TIMING,
    bad="run_stop is five minutes before run_start",
    good=_GOOD,
)

TIME_UNIT = policy_in_both(
    "score.time-unit",
    says="the times of a run are milliseconds",
    why="times in seconds make the score a thousandth of what it must be, and no official program "
    "notices it",
    message="time_ms looks like {unit} ({given}): the score would be {effect}",
    help="log time_ms in milliseconds, such as int(time.time() * 1000)",
    actual="given",
    cites=_TIMING,
    bad="run_start is at 1735689600, run_stop at 1735690920",
    good=_GOOD,
)

# In 5.0 initialisation of more than 30 minutes cost a converged run its place in the summary
BROKEN_RUN_COUNTED = policy(
    "score.broken-run-counted",
    says="the logs of the runs that are scored violate no rule",
    why="only a run that did not converge may be dropped as the slowest; the official summary "
    "drops any whose log it rejects",
    message="{broken} of {runs} runs converged and are scored, though their logs violate rules: "
    "{names}",
    help="see `podium check`; the official summary counts such a run as the slowest",
    cites=_RUNS,
    bad="a run converges, and logs an opt_name that the closed division does not allow",
    good=_GOOD,
)

# A note, as outliers are real: 0.7 has 922 minutes beside 0.46
UNEVEN_SPEED = policy_in_both(
    "score.uneven-speed",
    Severity.NOTE,
    says="the runs of a result train equally fast",
    why="far outliers point to pauses or slow nodes, and are asked about in review",
    message="in speed of training, runs are far from the others: {far}",
    help="look for pauses or slow nodes; it may be asked about in review",
    cites="training rules, Scoring",
    bad="one of three runs takes 100 minutes for as many samples, the others 30",
    good=_GOOD,
)

# A warning: to measure power is optional, so its faults cost no score
NO_ENERGY = policy_in_both(
    "score.no-energy",
    Severity.WARNING,
    says="power logs give the energy of every run that is scored",
    why="a result's energy is the mean over the runs of its score",
    message="there are power logs, and the energy of a scored run cannot be computed from them",
    help="see what `podium check` finds in the files there",
    cites="power measurement rules, Scoring",
    bad="power/result_0 holds a node_0.txt without a reading",
    good="there is no power folder",
)
