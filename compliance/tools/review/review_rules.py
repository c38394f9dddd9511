"""What a review of a whole round reports beside the check of each submission: one value a rule.

Most show only where results lie side by side. None of them rejects anything: a finding says what to
ask the submitter.
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
    says="runs that go on at one time fit on their system together",
    why="runs of one system cannot share its accelerators, or one of the clocks is wrong",
    message="{first} and {second} both ran for {minutes:.1f} minutes on {needed} accelerators "
    "together, of a system that has {there}; {count} of {total} runs of the system overlap so",
    help="ask on which nodes each of them ran, and for the scheduler's record of both",
    cites=_PLAUSIBLE,
    bad="two runs of a system of 64 accelerators, each on all of them, share half an hour",
    good="the second begins when the first is done",
)
COPIED_STRETCH = policy(
    "review.copied-stretch",
    says="no stretch of a run is that of another",
    why="rows of numbers or of times that are equal to the last digit are one run's, taken twice",
    message="{what} of lines {lines} are those of lines {theirs} of {other}{others}",
    help="ask how both logs came about, and for the raw output of the two runs",
    cites=_RUNS,
    bad="four losses in a row of one log stand in another log, too",
    good="every log has losses of its own",
)
CLOCK_BACK = policy(
    "review.clock-back",
    says="the clock of a log runs forward",
    why="a clock that is set back makes a run shorter than it was",
    message="the clock goes back by {seconds:.1f} s at line {at}{more}",
    help="ask what wrote this line, and whether the machine's clock was set during the run",
    cites=_TIMES,
    bad="an evaluation is logged an hour before the one above it",
    good="each evaluation is logged after the one above it",
)
CLOCK_STANDS = policy(
    "review.clock-stands",
    says="evaluations of different progress have different times",
    why="no training takes no time: times that are equal were not taken by a clock",
    message="{count} evaluations in a row, from line {first} to line {last}, have one time, though "
    "training went on from {start:g} to {stop:g} {unit}",
    help="ask what stamps the evaluations, and when",
    cites=_TIMES,
    bad="three evaluations in a row have the same time",
    good="they are minutes apart",
)
REGULAR_TIMES = policy(
    "review.regular-times",
    says="times between evaluations scatter as those of machines do",
    why="intervals that are equal to the millisecond were computed, not measured",
    message="{count} intervals between evaluations of {seconds:.3f} s differ by {spread:g} ms at "
    "most; those of a machine scatter more",
    help="ask what stamps the evaluations, and for the raw output of the run",
    cites=_TIMES,
    bad="eight evaluations are 60.000 s apart, each from the next",
    good="the intervals differ by tens of milliseconds",
)
PACE = policy(
    "review.pace",
    Severity.NOTE,
    says="a run keeps its pace",
    why="an interval at another speed is a pause, a restart, or time that is cut out",
    message="from line {first} to line {last} training goes {times:.2f} times as fast as usual in "
    "this run (z = {z:.0f}{more})",
    help="ask what happened there: a checkpoint, a pause, a restart",
    cites=_TIMES,
    bad="one interval takes half of the time that the others take",
    good="all take as long, within a few per cent",
)
TOO_FAST = own(
    "review.too-fast",
    says="a result trains about as fast as others on the same accelerator",
    why="a speed that no other result reaches has a reason that can be named, or is a mistake",
    message="{speed:.4g} {unit} per second and accelerator, {times:.2f} times the median of "
    "{peers} results on as many {accelerator} (robust z = {z:.1f})",
    help="ask what makes it so fast: precision, batch size, software, or another count of "
    "accelerators",
    cites=_PLAUSIBLE,
    bad="one of six results on an accelerator trains three times as fast as the others",
    good="all six are within a fifth of their median",
)
TOO_SLOW = own(
    "review.too-slow",
    Severity.NOTE,
    says="a result trains about as fast as others on the same accelerator",
    why="a system that is far slower than others of its kind may not be as it is described",
    message="{speed:.4g} {unit} per second and accelerator; the median of {peers} results on as "
    "many {accelerator} is {times:.2f} times as fast (robust z = {z:.1f})",
    help="ask what makes it so slow, and whether the description is that of the system",
    cites=_PLAUSIBLE,
    bad="one of six results on an accelerator trains 2.5 times slower than the others",
    good="all six are within a fifth of their median",
)
OUTLIER_RUN = own(
    "review.outlier-run",
    Severity.NOTE,
    says="all runs of a result train at one speed",
    why="a run that is faster or slower than the others was made on other nodes or with other "
    "software, or its clock is another",
    message="this run trains {times:.3f} times as fast as the median of the {total} runs "
    "(robust z = {z:.1f})",
    help="ask what was different in this run",
    cites=_PLAUSIBLE,
    bad="nine runs of a result train within 1 % of each other, and the tenth at 0.9 of their speed",
    good="all ten are within 1 %",
)
SLOW_START = own(
    "review.slow-start",
    Severity.NOTE,
    says="the first intervals of a run take as long as the last",
    why="intervals that fall steadily in all runs show that data is staged or cached while the run "
    "is timed",
    message="intervals between evaluations fall from {first:.3g} to {last:.3g} min; so in {count} "
    "of {total} runs",
    help="ask whether data is staged or cached during the run",
    cites=_PLAUSIBLE,
    bad="intervals take 19, 9, 5 and 3 minutes in all runs",
    good="all take 3 minutes",
)
OUTSIDE_BAND = policy(
    "review.outside-band",
    Severity.NOTE,
    says="no run converges far sooner than the reference",
    why="the mean may pass while a single run is far off: chosen seeds and mixed settings look so",
    message="this run converges in {samples:g} {unit}, {distance:.1f} standard deviations below "
    "the reference ({mean:g} ± {deviation:.3g}{batch}); so are {count} of {total} runs",
    help="ask whether this run's settings and code are those of the others",
    cites=_POINTS,
    bad="one run converges at half of the reference's samples",
    good="it converges within three deviations of the reference",
)
NEAR_MISS = policy(
    "review.near-miss",
    Severity.NOTE,
    says="a result is clear of the least that the reference allows",
    why="what passes by a hair depends on which runs were submitted",
    message="{samples:.6g} {unit} on average are {share:.2%} above the minimum of {minimum:.6g}; "
    "rank {rank} of {total} tested results by closeness",
    help="ask whether all runs that were made are submitted",
    cites=_POINTS,
    bad="a result converges 0.1 % above the minimum",
    good="it converges 5 % above it",
)
SEEDS_REUSED = policy(
    "review.seeds-reused",
    says="results draw their seeds anew",
    why="seeds that come again were chosen, perhaps for what they give",
    message="{count} of {total} seeds, such as {seed}, are those of {other}",
    help="ask how the seeds are drawn, and how many were tried",
    cites=_SEEDS,
    bad="the runs of two results have the same large seeds",
    good="each result has seeds of its own",
)
MISSING_RUN = policy(
    "review.missing-run",
    Severity.NOTE,
    says="runs that follow each other leave no room for another",
    why="a gap that just fits a run, among runs made back to back, hints at one that was left out",
    message="between {before} and {after} there are {gap:.1f} idle minutes, room for {fits:.1f} "
    "runs of {length:.1f} minutes; the other runs follow within {usual:.1f} minutes",
    help="ask for the scheduler's record of that time, and for every run that was begun",
    cites=_RUNS,
    bad="of ten runs made back to back two have the time of a whole run between them",
    good="each follows the one before within a minute",
)
MISSING_NUMBERS = policy(
    "review.missing-numbers",
    Severity.NOTE,
    says="numbers of runs, and of the jobs that made them, leave none out",
    why="who makes one job for each run and submits every run has numbers in a row",
    message="the {what} are numbered {numbers}; {missing} {are} of no run here{more}",
    help="ask what these jobs were, for the scheduler's record of them and for every run that was "
    "begun",
    cites=_RUNS,
    bad="the logs name the jobs 5119, 5120 and 5122, or are called result_5119_06.txt to _10.txt",
    good="the jobs are 5119, 5120 and 5121",
)
CONFIG_DISAGREES = policy(
    "review.config-disagrees",
    says="what a configuration file sets is what the log says",
    why="the submitted code must be that of the runs",
    message="{file}:{at} sets {setting} to {value}; the logs say {logged}",
    help="ask which of the two the runs used; have the code, or the log, corrected",
    cites="submission rules, Source code requirements for training inspection",
    bad="config_ex_n8.sh has OPT_BASE_LEARNING_RATE=0.5, and the logs 8e-05",
    good="both say 8e-05",
)
SHARED_CODE = note(
    "review.shared-code",
    says="code that submitters share is known to be shared",
    why="shared code is allowed, and one review of it serves all who use it",
    message="{share:.0%} of the {count} files of code for {benchmark} are those of {other}{more}",
    help="review the code once; ask what each submitter changed",
    cites=_CLOSED,
    bad="two submitters have the same twelve files for a benchmark",
    good="their files differ",
)
OPAQUE_FILE = policy(
    "review.opaque-file",
    says="code comes as text that a reviewer can read",
    why="compiled code, archives and checkpoints hide what ran, and cannot be compared",
    message="{kind} among the code: a reviewer cannot read it",
    help="ask for its source, or have it removed",
    cites="submission rules, Source code requirements for training inspection",
    bad="a folder of code has __pycache__/train.cpython-311.pyc",
    good="it has train.py",
)
DESCRIPTION_CHANGES = note(
    "review.description-changes",
    says="descriptions of a submitter's systems of one kind agree on hardware and software",
    why="all results of a set are made with one system and framework",
    message="{field} is {value} here and {other_value} in {other}, though both are nodes of "
    "{accelerator}{more}",
    help="ask which of the two holds, and which software each result ran with",
    cites=_SYSTEMS,
    bad="two descriptions of systems of one accelerator name two frameworks",
    good="both name one",
)


SUPERSEDED = frozenset({"result.overlapping-runs", "result.same-score"})
"""Rules of the check whose findings a review leaves out: it says more of the same."""

ANOMALIES = (
    *("review.*", "speed.*", "earlier.*", "borrowing.*", "result.copied-run", "result.other-code"),
    *("result.uneven-speed", "result.run-*", "result.checkpoints-left-out", "result.numbering"),
)
"""Which findings are reported as anomalies: those of the review, and some of the check."""
