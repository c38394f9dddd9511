"""The rules that a review of a whole round adds to the check of each submission, as values.

Most need several results to compare. None of them rejects a submission: a finding says what to ask
the submitter.
"""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import note, own, policy

_PLAUSIBLE = f"{OWN}, Plausibility"
_RUNS = "training rules, Benchmark Results"
_TIMES = "training rules, Run Results"
_SEEDS = "training rules, Random numbers"
_POINTS = "training rules, Reference Convergence Points (RCPs)"
_SYSTEMS = "training rules, System and framework must be consistent"
_CLOSED = "training rules, Closed Division"

OVERLAPPING_RUNS = own(
    "review.overlapping-runs",
    Severity.NOTE,
    says="runs that overlap in time fit on their system together",
    why="runs of one system cannot share its accelerators unless one of the clocks is wrong",
    message="{first} and {second} overlap for {minutes:.1f} minutes and need {needed} accelerators "
    "together, but the system has {there}; affected: {count} of {total} runs of the system",
    help="ask on which nodes each of them ran, and for the scheduler's record of both",
    cites=_PLAUSIBLE,
    bad="two runs use all 64 accelerators of a system and overlap for half an hour",
    good="the second run begins after the first has ended",
)
COPIED_STRETCH = policy(
    "review.copied-stretch",
    says="no part of a run is a copy from another run",
    why="sequences of numbers or times that are equal to the last digit come from one run",
    message="{what} of lines {lines} equal those of lines {theirs} of {other}{others}",
    help="ask how both logs were made, and for the raw output of both runs",
    cites=_RUNS,
    bad="four consecutive losses of one log are also in another log",
    good="every log has different losses",
)
CLOCK_BACK = policy(
    "review.clock-back",
    says="the clock of a log does not go back",
    why="a clock that is set back makes a run look shorter than it was",
    message="the clock goes back by {seconds:.1f} s at line {at}{more}",
    help="ask what wrote this line, and whether the machine's clock was set during the run",
    cites=_TIMES,
    bad="an evaluation has a time an hour before the one above it",
    good="each evaluation has a later time than the one above it",
)
CLOCK_STANDS = policy(
    "review.clock-stands",
    says="evaluations at different progress have different times",
    why="training takes time, so equal times were not read from a clock",
    message="{count} evaluations in a row, from line {first} to line {last}, have the same time, "
    "although training continued from {start:g} to {stop:g} {unit}",
    help="ask which program sets the times of the evaluations, and when",
    cites=_TIMES,
    bad="three evaluations in a row have the same time",
    good="the evaluations are minutes apart",
)
REGULAR_TIMES = policy(
    "review.regular-times",
    says="intervals between evaluations scatter like measured times",
    why="intervals that are equal to the millisecond were computed, not measured",
    message="{count} intervals of {seconds:.3f} s between evaluations differ by at most "
    "{spread:g} ms; measured intervals scatter more",
    help="ask which program sets the times of the evaluations, and for the raw output of the run",
    cites=_TIMES,
    bad="eight evaluations are exactly 60.000 s apart",
    good="the intervals differ by tens of milliseconds",
)
PACE = policy(
    "review.pace",
    Severity.NOTE,
    says="a run trains at a constant pace",
    why="an interval at another speed is a pause, a restart, or time that is cut out",
    message="from line {first} to line {last} training is {times:.2f} times as fast as usual in "
    "this run (z = {z:.0f}{more})",
    help="ask for the reason, such as a checkpoint, a pause or a restart",
    cites=_TIMES,
    bad="one interval takes half the time of the others",
    good="all intervals take the same time, within a few percent",
)
TOO_FAST = own(
    "review.too-fast",
    says="a result trains about as fast as others on the same accelerator",
    why="a speed that no other result reaches has a specific reason or is a mistake",
    message="{speed:.4g} {unit} per second and accelerator, {times:.2f} times the median of "
    "{peers} results on the same number of {accelerator} (robust z = {z:.1f})",
    help="ask for the reason, such as precision, batch size, software or another number of "
    "accelerators",
    cites=_PLAUSIBLE,
    bad="one of six results on an accelerator trains three times as fast as the others",
    good="all six are within a fifth of their median",
)
TOO_SLOW = own(
    "review.too-slow",
    Severity.NOTE,
    says="a result trains about as fast as others on the same accelerator",
    why="a system that is far slower than similar ones may not match its description",
    message="{speed:.4g} {unit} per second and accelerator; the median of {peers} results on the "
    "same number of {accelerator} is {times:.2f} times as fast (robust z = {z:.1f})",
    help="ask for the reason, and whether the description matches the system",
    cites=_PLAUSIBLE,
    bad="one of six results on an accelerator takes 2.5 times as long as the others",
    good="all six are within a fifth of their median",
)
OUTLIER_RUN = own(
    "review.outlier-run",
    Severity.NOTE,
    says="all runs of a result train at the same speed",
    why="a run that is faster or slower than the others used other nodes, other software or "
    "another clock",
    message="this run trains {times:.3f} times as fast as the median of the {total} runs "
    "(robust z = {z:.1f})",
    help="ask what was different in this run",
    cites=_PLAUSIBLE,
    bad="nine runs of a result train within 1 % of each other, the tenth at 0.9 times their speed",
    good="all ten runs train within 1 % of each other",
)
SLOW_START = own(
    "review.slow-start",
    Severity.NOTE,
    says="the first intervals of a run take as long as the last",
    why="intervals that fall steadily in all runs show that data is staged or cached while the run "
    "is timed",
    message="intervals between evaluations fall from {first:.3g} to {last:.3g} min; affected: "
    "{count} of {total} runs",
    help="ask whether data is staged or cached during the run",
    cites=_PLAUSIBLE,
    bad="intervals take 19, 9, 5 and 3 minutes in all runs",
    good="all intervals take 3 minutes",
)
OUTSIDE_BAND = policy(
    "review.outside-band",
    Severity.NOTE,
    says="no run converges far sooner than the reference",
    why="the mean may pass although a single run is far off, for example by chosen seeds or mixed "
    "settings",
    message="this run converges in {samples:g} {unit}, {distance:.1f} standard deviations below "
    "the reference ({mean:g} ± {deviation:.3g}{batch}); affected: {count} of {total} runs",
    help="ask whether this run has the settings and the code of the others",
    cites=_POINTS,
    bad="one run converges after half the samples of the reference",
    good="the run converges within three deviations of the reference",
)
NEAR_MISS = policy(
    "review.near-miss",
    Severity.NOTE,
    says="a result converges clearly above the minimum that the reference allows",
    why="a narrow pass depends on which runs were submitted",
    message="the mean of {samples:.6g} {unit} is {share:.2%} above the minimum of {minimum:.6g}; "
    "rank {rank} of {total} tested results by closeness",
    help="ask whether all runs were submitted",
    cites=_POINTS,
    bad="a result converges 0.1 % above the minimum",
    good="a result converges 5 % above the minimum",
)
SEEDS_REUSED = policy(
    "review.seeds-reused",
    says="each result draws new seeds",
    why="repeated seeds were chosen, perhaps for their results",
    message="{count} of {total} seeds, such as {seed}, are also in {other}",
    help="ask how the seeds are drawn, and how many were tried",
    cites=_SEEDS,
    bad="the runs of two results have the same large seeds",
    good="each result has different seeds",
)
MISSING_RUN = policy(
    "review.missing-run",
    Severity.NOTE,
    says="back-to-back runs leave no room for another run",
    why="a gap as long as a run among back-to-back runs suggests that a run was left out",
    message="between {before} and {after} there are {gap:.1f} idle minutes, room for {fits:.1f} "
    "runs of {length:.1f} minutes; the other runs follow within {usual:.1f} minutes",
    help="ask for the scheduler's record of that time, and for every run that was started",
    cites=_RUNS,
    bad="two of ten back-to-back runs have the time of a whole run between them",
    good="each run follows the one before within a minute",
)
MISSING_NUMBERS = policy(
    "review.missing-numbers",
    Severity.NOTE,
    says="the numbers of runs and of their jobs have no gaps",
    why="a submitter that starts one job for each run and submits every run has consecutive "
    "numbers",
    message="the {what} are numbered {numbers}; {missing} {are} missing{more}",
    help="ask for the purpose of these jobs, for the scheduler's record of them and for every run "
    "that was started",
    cites=_RUNS,
    bad="the logs name the jobs 5119, 5120 and 5122, or are called result_5119_06.txt to _10.txt",
    good="the jobs are 5119, 5120 and 5121",
)
CONFIG_DISAGREES = policy(
    "review.config-disagrees",
    says="the logs have the values that a configuration file sets",
    why="the submitted code must be the code of the runs",
    message="{file}:{at} sets {setting} to {value}; the logs say {logged}",
    help="ask which of the two the runs used; have the code or the log corrected",
    cites="submission rules, Source code requirements for training inspection",
    bad="config_ex_n8.sh has OPT_BASE_LEARNING_RATE=0.5, but the logs have 8e-05",
    good="both have 8e-05",
)
SHARED_CODE = note(
    "review.shared-code",
    says="code that submitters share is reported",
    why="shared code is allowed, and one review of it is enough",
    message="{share:.0%} of the {count} code files for {benchmark} equal those of {other}{more}",
    help="review the code once; ask what each submitter changed",
    cites=_CLOSED,
    bad="two submitters have the same twelve files for a benchmark",
    good="their files differ",
)
OPAQUE_FILE = policy(
    "review.opaque-file",
    says="code is text that a reviewer can read",
    why="compiled code, archives and checkpoints hide what ran and cannot be compared",
    message="{kind} in the code; expected text that a reviewer can read",
    help="ask for the source, or have the file removed",
    cites="submission rules, Source code requirements for training inspection",
    bad="a folder of code has __pycache__/train.cpython-311.pyc",
    good="a folder of code has train.py",
)
DESCRIPTION_CHANGES = note(
    "review.description-changes",
    says="the descriptions of a submitter's similar systems agree on hardware and software",
    why="all results of a set are made with one system and framework",
    message="{field} is {value} here but {other_value} in {other}; both are nodes with "
    "{accelerator}{more}",
    help="ask which of the two is correct, and which software each result used",
    cites=_SYSTEMS,
    bad="the descriptions of two systems with the same accelerator name two frameworks",
    good="both descriptions name the same framework",
)


SUPERSEDED = frozenset({"result.overlapping-runs", "result.same-score"})
"""Rules of the check whose findings a review omits, because its own findings are more detailed."""

ANOMALIES = (
    *("review.*", "speed.*", "earlier.*", "borrowing.*", "result.copied-run", "result.other-code"),
    *("result.uneven-speed", "result.run-*", "result.checkpoints-left-out", "result.numbering"),
)
"""The findings that are reported as anomalies: those of the review and some of the check."""
