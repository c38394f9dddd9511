"""The rules on implausible results."""

from __future__ import annotations

from podium.rules.consequences import Follows, Reach, of_its_file
from podium.rules.fixed.fixed_rule import note, policy

_RUNS = "training rules, Benchmark Results"
_SCHEDULE = "submission rules, Schedule of submission rounds"

_OF_ANOTHER_UNIT = (Follows("run.time-unit", Reach.RESULT),)

FUTURE_RUNS = policy(
    "result.run-after-round",
    says="runs are made before their round is published",
    why="a later run was not submitted to this round, or the clock was wrong",
    message="{count} of {total} runs began after {title} {event}, {name} on {date}; expected "
    "earlier runs",
    help="set the system's clock and repeat the runs, or check that --round names their round",
    cites=_SCHEDULE,
    bad="the runs of a result of training 5.1 are dated 2031",
    good="they are dated June 2025",
    follows=_OF_ANOTHER_UNIT,
)
EARLY_RUNS = policy(
    "result.run-long-before-round",
    says="runs are made for their round, or for a recent earlier round",
    why="the reference, the rules and the data of a round do not exist years before it",
    message="{count} of {total} runs began more than {years} years before {title} was published, "
    "{name} on {date}; expected more recent runs",
    help="set the system's clock and repeat the runs",
    cites=_SCHEDULE,
    bad="the runs of a result of training 5.1 are dated 2015",
    good="they are dated June 2025",
    follows=_OF_ANOTHER_UNIT,
)
OLD_RUNS = note(
    "result.run-of-earlier-round",
    says="runs are made in the year before their round's results are due",
    why="logs of an earlier round may be submitted again only if the rules allow it, and only with "
    "a notice",
    message="{count} of {total} runs began more than a year before logs of {title} were due, "
    "{name} on {date}; {allowed}",
    help="state the round of the logs, or correct the clock",
    cites="training rules, Results Resubmission",
    bad="the runs of a result of training 5.1 are dated August 2024",
    good="they are dated June 2025",
)
UNEVEN_SPEED = note(
    "result.uneven-speed",
    says="all runs of a result train equally fast",
    why="runs differ in the amount of training, but hardly in the speed on the same system",
    message="{name} trains {share:.0%} {word} than most runs of the result{more}",
    help="look for pauses, slow nodes or another configuration; reviewers may ask about it",
    cites=_RUNS,
    bad="one of ten runs needs as many samples as the others, but half the time",
    good="all runs need between 30 and 31 minutes for a million samples",
    follows=tuple(
        Follows(cause, Reach.RESULT, of_its_file)
        for cause in ("run.time-unit", "evaluation.counts-steps", "result.other-benchmark")
    ),
)
CHECKPOINTS_LEFT_OUT = policy(
    "result.checkpoints-left-out",
    says="one run in ten scores every checkpoint until the target is reached",
    why="the other nine score only the last two, so only this run shows that none passed earlier",
    message="{full} of {total} runs score every checkpoint until the target ({best} has {scored} "
    "of {due}); expected at least {needed}",
    help="evaluate the missing checkpoints in one run of ten",
    expected="at least {needed}",
    actual="full",
    cites="training rules, Benchmark Specific Rules",
    bad="every run of stable_diffusion scores two checkpoints of five",
    good="one of the ten runs scores all five",
)

NOT_SPREAD = policy(
    "result.batch-not-spread",
    says="the global batch divides evenly among the accelerators of the system",
    why="a device batch that does not match the system was not used on it",
    message="global_batch_size {batch} is {width:g} times {product}, but the system has "
    "{accelerators} accelerators; expected an equal number, or one that divides it evenly",
    help="correct the logged value, or the number of accelerators in the system description",
    cites="training rules, System and framework must be consistent",
    bad="the logs of a result have global_batch_size 96 and local_batch_size 8, and the system "
    "has 8 accelerators",
    good="they have global_batch_size 64 and local_batch_size 8",
)
