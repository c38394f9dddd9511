"""Work spread over processes: results in order, and no process remains after its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.judging import files
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import check_paths
from podium.compliance.judging.workers.processes import TaskPolicy, spread
from podium.compliance.reporting.render import renderer
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.locations import ROOT

KILLED = """
import os, sys, time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from podium.compliance.judging.workers.processes import TaskPolicy, spread

def work(tasks):
    Path(sys.argv[1], str(os.getpid())).touch()
    if sys.argv[2] == "busy":
        time.sleep(600)
    return tasks

for _ in spread(work, list(range(48)), 4, TaskPolicy(lambda task: 900, lambda task, how: task)):
    if sys.argv[2] == "idle" and len(os.listdir(sys.argv[1])) > 1:
        time.sleep(600)
"""


def twice(tasks: list[int]) -> list[int]:
    return [2 * task for task in tasks]


def flat(
    work: Callable[[list[int]], list[int]], tasks: list[int], jobs: int, seconds: float = 900
) -> list[int]:
    """All results; a lost task gives its negative number."""
    care = TaskPolicy[int, int](lambda _: seconds, lambda task, _: -task)
    return [done for batch in spread(work, tasks, jobs, care) for done in batch]


def alive(process: int) -> bool:
    """Whether a process runs; a zombie does not run."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def until(what: object, seconds: float = 60) -> bool:
    """Whether a condition becomes true in time."""
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
    assert flat(twice, tasks, jobs) == twice(tasks)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked at in /proc")
@pytest.mark.parametrize("state", ["busy", "idle"])
def test_workers_end_after_their_parent_is_killed(state: str, tmp_path: Path) -> None:
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


# --- lost processes ---


def dying(numbers: set[int], once: Path | None = None) -> Callable[[list[int]], list[int]]:
    """Work that kills its process at some tasks: at each attempt, or only at the first one."""

    def work(tasks: list[int]) -> list[int]:
        for task in tasks:
            if task in numbers and not (once and (once / str(task)).exists()):
                if once:
                    (once / str(task)).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return twice(tasks)

    return Forked(work)


def hanging(numbers: set[int]) -> Callable[[list[int]], list[int]]:
    """Work that never ends at some tasks."""

    def work(tasks: list[int]) -> list[int]:
        while numbers & set(tasks):
            time.sleep(60)
        return twice(tasks)

    return Forked(work)


class Forked:
    """A function that a forked process already has: only its identifier is pickled."""

    known: dict[int, Callable[[list[int]], list[int]]] = {}  # noqa: RUF012

    def __init__(self, work: Callable[[list[int]], list[int]]) -> None:
        self.known[id(work)] = work
        self.place = id(work)

    def __call__(self, tasks: list[int]) -> list[int]:
        return self.known[self.place](tasks)


linux = pytest.mark.skipif(sys.platform != "linux", reason="the work is passed on by a fork")


@linux
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("numbers", [{0}, {50}, {100}, {3, 4, 5, 77}])
def test_a_killed_process_loses_only_its_own_task(jobs: int, numbers: set[int]) -> None:
    tasks = list(range(1, 102))
    lost = {tasks[number] for number in numbers}
    wanted = [-task if task in lost else 2 * task for task in tasks]
    assert flat(dying(lost), tasks, jobs) == wanted


@linux
def test_a_task_is_retried_in_a_new_process(tmp_path: Path) -> None:
    tasks = list(range(1, 60))
    assert flat(dying({1, 30, 31, 59}, tmp_path), tasks, 3) == twice(tasks)


@linux
def test_spread_ends_if_all_tasks_are_lost(tmp_path: Path) -> None:
    tasks = list(range(1, 9))
    assert flat(dying(set(tasks)), tasks, 2) == [-task for task in tasks]


@linux
def test_a_process_that_hangs_is_ended() -> None:
    tasks = list(range(1, 40))
    begun = time.monotonic()
    assert flat(hanging({7}), tasks, 3, 0.5) == [-7 if task == 7 else 2 * task for task in tasks]
    assert time.monotonic() - begun < 30


@linux
def test_closing_the_results_does_not_wait_for_a_hanging_process() -> None:
    care = TaskPolicy[int, int](lambda _: 900, lambda task, _: -task)
    batches = spread(hanging({30}), list(range(1, 40)), 2, care)
    next(batches)
    begun = time.monotonic()
    batches.close()  # type: ignore[attr-defined]
    assert time.monotonic() - begun < 20


@pytest.fixture
def logs(good: LogBuilder, tmp_path: Path) -> Path:
    """Two dozen logs, some with an error, for more than one process."""
    for number in range(24):
        log = good if number % 5 else good.drop("opt_name")
        log.write(tmp_path / f"logs/result_{number}.txt")
    return tmp_path / "logs"


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FEW_BYTES", 0)


def report(path: Path, jobs: int) -> str:
    text: str = renderer("json")(check_paths([path], Options(round="5.1", jobs=jobs)))
    return text


@linux
@pytest.mark.usefixtures("few_bytes")
def test_the_report_equals_that_of_one_process(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = report(logs, 1)
    assert report(logs, 4) == one
    mark = logs.parent / "mark"

    def judged(log: Any, rules: Any, profile: Any, path: str, **options: Any) -> Any:
        if path.endswith("result_13.txt") and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return judge_log(log, rules, profile, path, **options)

    monkeypatch.setattr(files, "judge_log", judged)
    assert report(logs, 4) == one
    assert mark.exists()


@linux
@pytest.mark.usefixtures("few_bytes")
def test_a_file_that_kills_every_process_is_a_finding(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(log: Any, rules: Any, profile: Any, path: str, **options: Any) -> Any:
        if path.endswith("result_13.txt"):
            os.kill(os.getpid(), signal.SIGKILL)
        return judge_log(log, rules, profile, path, **options)

    others = {entry["path"]: entry for entry in json.loads(report(logs, 1))["files"]}
    monkeypatch.setattr(files, "judge_log", judged)
    done = podium(
        *("check", logs, "--round", "5.1", "--jobs", 3, "--format", "json", "--select", "seed.*")
    )
    assert done.exit_code == 1
    data = json.loads(done.stdout)
    (found,) = [each for each in data["findings"] if each["id"] == "internal.process-lost"]
    assert found["path"].endswith("result_13.txt")
    assert "was killed by SIGKILL, perhaps for its memory, twice" in found["message"]
    for entry in data["files"]:
        lost = entry["path"].endswith("result_13.txt")
        assert entry["verdict"] == ("fail" if lost else others[entry["path"]]["verdict"])


@pytest.mark.parametrize("size", [0, 1 << 20, 1 << 30])
def test_the_time_limit_of_a_file_grows_with_its_size(size: int, tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    with path.open("wb") as stream:
        stream.truncate(size)
    task = files.Task(
        *(str(path), "result_0.txt", "training", "5.1", files.Profile.POLICY, "log"),
        with_facts=False,
        submission="",
        leads_out=False,
    )
    assert files._time_limit(task) == 120 + size / (1 << 18)
