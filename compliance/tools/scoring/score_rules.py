"""The rules of scores, as values.

Each profile calculates its own score, so a rule has the same severity in both.
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
    says="a result has all runs that its score needs, and they converge",
    why="the mean without the fastest and slowest runs needs all runs, and few runs may fail; all "
    "instances of an HPC throughput result must converge and have the same scale",
    message="no valid score: {problem}",
    help="{fix}; `podium score --explain` shows the problem of each run",
    cites=f"{_RUNS}; HPC rules, Throughput",
    bad="two of three runs of llama31_405b end with the status aborted",
    good=_GOOD,
)

NO_TIME = policy_in_both(
    "score.no-time",
    says="the runs of a result log run_start and run_stop",
    why="time to train is the time between the two",
    message="no run has a time: run_start or run_stop is missing",
    help="log run_start and run_stop in every run",
    cites=_TIMING,
    bad="the instances of an HPC result converge, but none logs run_start",
    good=_GOOD,
)

MIXED_BATCH_SIZES = policy_in_both(
    "score.mixed-batch-sizes",
    says="all runs of a result have the same global batch size",
    why="runs with different batch sizes are different results",
    message="the runs have different global batch sizes ({sizes}); expected the same in all runs",
    help="repeat the deviating runs with the batch size of the other runs",
    cites=_POINTS,
    bad="two runs have the global batch size 1152, the third 9216",
    good=_GOOD,
)

ABSURD_CONVERGENCE = policy_in_both(
    "score.absurd-convergence",
    says="the point of convergence of a run has the same magnitude as in the other runs",
    why="a wrong unit or a broken counter hides how long the run trained",
    message="according to its log, the run converged after {at:g} {unit}; {why}",
    help="log the number of {unit} trained so far with every evaluation",
    actual="at",
    cites=_POINTS,
    bad="a run logs its evaluations with a samples_count of 1000000000000",
    good=_GOOD,
)

NEGATIVE_TIME = policy_in_both(
    "score.negative-time",
    says="run_stop comes after run_start",
    why="a run without a positive duration was not timed with one clock",
    message="run_stop is {before:g} minutes before run_start",
    help="log both with the same clock, in milliseconds since 1970",
    actual="minutes",
    cites=_TIMING,
    bad="run_stop is five minutes before run_start",
    good=_GOOD,
)

TIME_UNIT = policy_in_both(
    "score.time-unit",
    says="the times of a run are in milliseconds",
    why="times in seconds make the score a thousandth of its true value, and no official program "
    "reports this",
    message="time_ms looks like {unit} ({given}; {runs}): the score would be {effect}",
    help="log time_ms in milliseconds, such as int(time.time() * 1000)",
    actual="given",
    cites=_TIMING,
    bad="run_start is at 1735689600, run_stop at 1735690920",
    good=_GOOD,
)

UNCOUNTED_LOGS = policy_in_both(
    "score.uncounted-logs",
    says="every log of a result is named result_<i>.txt",
    why="a log with another name is not one of the runs that are scored",
    message="{count} with records of a run {verb} not scored because of the name: {names}",
    help="name each log result_<i>.txt; `podium fix` does it in a submission",
    cites="submission rules, Directory structure",
    varies="a warning where no run is missing: in a result with enough runs, and for loose logs",
    bad="the tenth log of a result is named results_9.txt",
    good=_GOOD,
)

# In 5.0, an initialization of more than 30 minutes excluded a converged run from the summary
BROKEN_RUN_COUNTED = policy(
    "score.broken-run-counted",
    says="the logs of scored runs violate no rule",
    why="only a run that did not converge may be dropped as the slowest; the official summary "
    "drops any run whose log it rejects",
    message="{broken} of {runs} runs converged and are scored, but their logs violate rules: "
    "{names}",
    help="see `podium check`; the official summary counts such a run as the slowest",
    cites=_RUNS,
    bad="a run converges, but logs an opt_name that the closed division does not allow",
    good=_GOOD,
)

# A note, because there are valid outliers: a result of 0.7 has runs of 922 and of 0.46 minutes
UNEVEN_SPEED = policy_in_both(
    "score.uneven-speed",
    Severity.NOTE,
    says="the runs of a result train at the same speed",
    why="far outliers indicate pauses or slow nodes, and reviewers ask about them",
    message="the training speed of some runs is far from the others: {far}",
    help="look for pauses or slow nodes; reviewers may ask about them",
    cites="training rules, Scoring",
    bad="one of three runs takes 100 minutes for as many samples, the others 30",
    good=_GOOD,
)

# A warning: power measurement is optional, so its faults do not invalidate the score
NO_ENERGY = policy_in_both(
    "score.no-energy",
    Severity.WARNING,
    says="power logs contain the energy of every scored run",
    why="the energy of a result is the mean over its scored runs",
    message="there are power logs, but the energy of a scored run cannot be computed from them",
    help="see the findings of `podium check` on these files",
    cites="power measurement rules, Scoring",
    bad="power/result_0 has a node_0.txt without a reading",
    good="the result has no power folder",
)
