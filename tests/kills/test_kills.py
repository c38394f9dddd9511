"""After a kill, no logged line is missing, and the target is the old or the new version."""

from __future__ import annotations

import signal

import pytest

from tests.kills.harness import FORGOTTEN, ended_well, run


@pytest.mark.long
def test_a_few_kills_show_no_error() -> None:
    tally = run(6, seed=7)
    assert tally.faults == []
    assert sum(tally.kills.values()) >= 6
    assert tally.lines > 0


STARTING = """Traceback (most recent call last):
  File "<frozen site>", line 626, in <module>
KeyboardInterrupt
"""
OWN = """Traceback (most recent call last):
  File "/home/me/src/podium/__init__.py", line 9, in <module>
KeyboardInterrupt
"""


@pytest.mark.parametrize(
    ("status", "said", "well"),
    [
        (0, "", True),
        (130, "podium: interrupted\n", True),
        (-signal.SIGINT, "", True),
        (-signal.SIGINT, STARTING, True),
        (1, STARTING, True),
        (0, STARTING, False),
        (0, FORGOTTEN + STARTING, True),
        (0, FORGOTTEN + OWN + STARTING, False),
        (130, FORGOTTEN + STARTING, False),
        (-signal.SIGINT, OWN, False),
        (1, OWN, False),
        (130, OWN, False),
        (130, "", False),
        (2, "podium: a file cannot be read\n", False),
        (3, "podium: interrupted\n", False),
    ],
)
def test_an_interrupted_command_ends_without_a_podium_traceback(
    status: int, said: str, well: bool
) -> None:
    assert ended_well(status, said) is well


@pytest.mark.long
def test_many_kills_of_every_command_show_no_error() -> None:
    tally = run(120, seed=11)
    assert tally.faults == []
    assert {name.split()[0] for name in tally.kills} == {
        *("logger", "mllog", "pack", "bundle", "unpack", "init", "system", "results"),
        *("review", "check", "fix"),
    }
