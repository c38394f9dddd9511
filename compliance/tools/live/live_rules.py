"""The rules that only a guard of a running log reports, as values."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import own

NOT_YET_LOGGED = own(
    "guard.not-yet-logged",
    Severity.NOTE,
    Severity.NOTE,
    says="required keys are logged before the timed part",
    why="a key that is missing when the clock starts may never be logged",
    message="{missing} not logged before run_start; must be logged",
    help="log the missing keys before the run stops, preferably before it starts",
    cites=f"{OWN}, Guard",
    bad="run_start is logged, and max_steps is not",
    good="run_start is logged after all required keys",
)

CONFLICTING_DECLARATION = own(
    "guard.conflicting-declaration",
    Severity.ERROR,
    Severity.ERROR,
    says="a log names the benchmark and division of its logger",
    why="otherwise the final check uses other rules than the guard",
    message="{logged_key} is {shown}, but the guard was made for {given}",
    help="give the logger the division and benchmark that the run logs",
    cites=f"{OWN}, Guard",
    expected="{given}",
    actual="value",
    bad="a logger made for the open division logs the submission_division closed",
    good="a logger made for the closed division logs the submission_division closed",
)
