"""The rules that only a guard of a running log reports, as values."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import own

NOT_YET_LOGGED = own(
    "guard.not-yet-logged",
    Severity.NOTE,
    Severity.NOTE,
    says="what a run must log stands before the timed part",
    why="what is missing when the clock starts may be forgotten for good",
    message="the run starts and {missing} not logged yet; must be logged",
    help="log what is missing before the run stops, best of all before it starts",
    cites=f"{OWN}, Guard",
    bad="run_start is logged, and max_steps is not",
    good="run_start is logged last of all that is logged once",
)

CONFLICTING_DECLARATION = own(
    "guard.conflicting-declaration",
    Severity.ERROR,
    Severity.ERROR,
    says="a log names the benchmark and division that its logger was made for",
    why="otherwise it is judged by other rules than those it was guarded by",
    message="{logged_key} is {shown}, but the guard was made for {given}",
    help="give the logger the division and benchmark that the run logs",
    cites=f"{OWN}, Guard",
    expected="{given}",
    actual="value",
    bad="a logger made for the open division logs the submission_division closed",
    good="a logger made for the closed division logs the submission_division closed",
)
