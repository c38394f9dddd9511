"""Checks of HPC runs: staging data to the nodes, which is timed before round 3.0."""

from __future__ import annotations

from collections.abc import Iterator

from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import minutes, times
from podium.rules.checks.watch import on
from podium.rules.finding import Severity
from podium.rules.run import Run
from podium.rules.table import Violation

CITES = "HPC rules, Data State at Start of Run"


@check(
    "staging.untimed",
    key="staging_start",
    says="staging is within the timed part of a run",
    cites=CITES,
    bad=excerpt(at(0, "staging_start"), at(5, "staging_stop"), at(6, "run_start")),
    good=excerpt(at(0, "run_start"), at(1, "staging_start"), at(5, "staging_stop")),
    watches=(on("staging_start", "run_start"),),
)
def untimed(run: Run, context: Context) -> Iterator[Violation]:
    """The data starts on a shared file system; copying it to the nodes is part of the run."""
    start, starts = run.first("run_start"), times(run, "staging_start")
    # HPC 3.0 takes staging off the clock (HPC rules, Data State at Start of Run)
    if not context.limits.staging_timed or start is None or not starts:
        return
    lead = start.time_ms - min(starts)
    if lead > 0:
        yield Violation(
            run.where["staging_start"][0],
            f"staging_start is {minutes(lead)} before run_start; must be after it",
            "after run_start",
            -lead,
            "start the clock before data is staged to the nodes",
        )


@check(
    "staging.not-logged",
    key="staging_start",
    says="a run that stages data to the nodes logs staging_start and staging_stop",
    cites=CITES,
    severity=Severity.NOTE,
    bad=at(0, "run_start"),
    good=excerpt(at(0, "run_start"), at(1, "staging_start"), at(5, "staging_stop")),
)
def not_logged(run: Run, context: Context) -> Iterator[Violation]:
    """Only these records show that staging was on the clock. A run that stages nothing has none."""
    if context.limits.staging_timed and "staging_start" not in run.where:
        yield Violation(
            None,
            "staging_start is not logged; must be logged within the timed part if data is staged",
            "staging within the timed part",
            None,
            "log staging_start and staging_stop if the run stages data to its nodes",
        )


CHECKS = (untimed, not_logged)
