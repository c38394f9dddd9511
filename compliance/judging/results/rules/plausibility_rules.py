"""Results that can hardly have come about as their logs say: one value for each rule."""

from __future__ import annotations

from podium.rules.consequences import Follows, Reach, of_its_file
from podium.rules.fixed.fixed_rule import note, policy

_RUNS = "training rules, Benchmark Results"
_SCHEDULE = "submission rules, Schedule of submission rounds"

FUTURE_RUNS = policy(
    "result.run-after-round",
    says="runs are made before their round is published",
    why="what was logged later was not submitted to this round, or not by a clock that is set",
    message="{count} of {total} runs began after {title} {event}, {name} on {date}; must have been "
    "made before",
    help="set the system's clock and repeat the runs, or check that --round names their round",
    cites=_SCHEDULE,
    bad="the runs of a result of training 5.1 are dated 2031",
    good="they are dated June 2025",
)
EARLY_RUNS = policy(
    "result.run-long-before-round",
    says="runs are made for their round, or for one not long before",
    why="nobody had the reference, the rules and the data years before a round",
    message="{count} of {total} runs began more than {years} years before {title} was published, "
    "{name} on {date}; must be younger",
    help="set the system's clock and repeat the runs",
    cites=_SCHEDULE,
    bad="the runs of a result of training 5.1 are dated 2015",
    good="they are dated June 2025",
)
OLD_RUNS = note(
    "result.run-of-earlier-round",
    says="runs are made in the year before their round's results are due",
    why="logs of an earlier round may be submitted again only where the rules say so, and if "
    "that is stated",
    message="{count} of {total} runs began more than a year before logs of {title} were due, "
    "{name} on {date}; {allowed}",
    help="state which round the logs are of, or correct the clock",
    cites="training rules, Results Resubmission",
    bad="the runs of a result of training 5.1 are dated August 2024",
    good="they are dated June 2025",
)
UNEVEN_SPEED = note(
    "result.uneven-speed",
    says="all runs of a result train equally fast",
    why="runs differ in how much training they need, hardly in how fast the same system trains",
    message="{name} trains {share:.0%} {word} than the result's runs usually do{more}",
    help="look for pauses, slow nodes or another configuration; it may be asked about in review",
    cites=_RUNS,
    bad="one of ten runs needs as many samples as the others, and half as long",
    good="all take between 30 and 31 minutes for a million samples",
    follows=tuple(
        Follows(cause, Reach.RESULT, of_its_file)
        for cause in ("run.time-unit", "evaluation.counts-steps")
    ),
)
CHECKPOINTS_LEFT_OUT = policy(
    "result.checkpoints-left-out",
    says="one run in ten scores every checkpoint until the target is reached",
    why="the other nine score the last two only, so nothing else shows that none passed earlier",
    message="{full} of {total} runs score every checkpoint until the target ({best} has {scored} "
    "of {due}); at least {needed} must",
    help="evaluate the checkpoints that are missing, in one run of ten",
    expected="at least {needed}",
    actual="full",
    cites="training rules, Benchmark Specific Rules",
    bad="every run of stable_diffusion scores two checkpoints of five",
    good="one of the ten runs scores all five",
)
