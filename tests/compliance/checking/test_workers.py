"""Work spread over processes: in order, and no process outlives the one that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from podium.compliance.checking.workers import spread
from tests.locations import ROOT

KILLED = """
import os, sys, time
from pathlib import Path
from podium.compliance.checking.workers import spread

def work(tasks):
    Path(sys.argv[1], str(os.getpid())).touch()
    if sys.argv[2] == "busy":
        time.sleep(600)
    return tasks

for _ in spread(work, list(range(48)), 4):
    if sys.argv[2] == "idle" and len(os.listdir(sys.argv[1])) > 1:
        time.sleep(600)
"""


def twice(tasks: list[int]) -> list[int]:
    return [2 * task for task in tasks]


def alive(process: int) -> bool:
    """Whether a process still runs; one that has ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(what: object, seconds: float = 60) -> bool:
    """Whether something comes true in time."""
    assert callable(what)
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    tasks = list(range(101))
    assert [done for batch in spread(twice, tasks, jobs) for done in batch] == twice(tasks)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked at in /proc")
@pytest.mark.parametrize("state", ["busy", "idle"])
def test_no_worker_outlives_a_parent_that_is_killed(state: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), state]
    parent = subprocess.Popen(command, cwd=ROOT)
    try:
        assert until(lambda: len(os.listdir(tmp_path)) > (3 if state == "busy" else 1))
        workers = [int(name) for name in os.listdir(tmp_path)]
        assert all(alive(worker) for worker in workers)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert until(lambda: not any(alive(worker) for worker in workers), 30)
