"""Rules of our handbook."""

from __future__ import annotations

from collections.abc import Iterator

from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.finding import Severity
from podium.rules.run import MINUTE_MS, Run
from podium.rules.table import Violation

MOST_MINUTES = 30
"""Minutes between init_start and run_start."""


@check(
    "init.slow",
    key="run_start",
    says=f"initialization takes at most {MOST_MINUTES} minutes",
    cites="our handbook, Before a run",
    severity=Severity.WARNING,
    bad=excerpt(at(0, "init_start"), at(45, "run_start")),
    good=excerpt(at(0, "init_start"), at(5, "run_start")),
)
def slow_init(run: Run, _: Context) -> Iterator[Violation]:
    """The cluster costs money from the first minute, but only the run is scored."""
    init, start = run.first("init_start"), run.first("run_start")
    if init is None or start is None:
        return
    minutes = (start.time_ms - init.time_ms) / MINUTE_MS
    if minutes > MOST_MINUTES:
        yield Violation(
            run.where["run_start"][0],
            f"initialization takes {minutes:.1f} minutes; must take at most {MOST_MINUTES}",
            expected=f"at most {MOST_MINUTES}",
            actual=minutes,
            hint="compile and load before the job starts, or request the nodes later",
        )


RULES = (slow_init,)
