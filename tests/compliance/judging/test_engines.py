"""Workers of a scheduler instead of processes: the same results, even if a worker is lost."""

from __future__ import annotations

import fcntl
import filecmp
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.files import optional_imports
from podium.compliance.judging import files
from podium.compliance.judging.workers.cluster import connecting
from podium.compliance.judging.workers.cluster import engine as dask_engine
from podium.compliance.judging.workers.cluster.batches import BATCH_BYTES, FILE_BYTES, batches
from podium.compliance.judging.workers.cluster.connecting import engine_of
from podium.compliance.judging.workers.engine import Engine, Processes
from podium.compliance.judging.workers.processes import TaskPolicy
from tests.builders import LogBuilder
from tests.compliance.command_line import podium
from tests.compliance.judging.test_workers import alive, until
from tests.compliance.trees import usual
from tests.locations import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[Any]:
    """A scheduler with two workers that gives up a batch after it has killed two workers."""
    dask, distributed = (pytest.importorskip(name) for name in ("dask", "distributed"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=60,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def address(scheduler: Any) -> str:
    return f"dask:{scheduler.scheduler_address}"


@pytest.fixture
def workers(address: str) -> Iterator[Engine]:
    with engine_of(address, 1) as engine:
        assert engine is not None
        yield engine


def all_of(
    engine: Engine,
    work: Callable[[list[str]], list[str]],
    tasks: list[str],
    care: TaskPolicy[str, str],
) -> list[str]:
    return [done for batch in engine.spread(work, tasks, care) for done in batch]


# --- work that other processes import ---


def louder(tasks: list[str]) -> list[str]:
    return [task.upper() for task in tasks]


def as_named(tasks: list[str]) -> list[str]:
    """Do what each task names: kill or hang the process, or kill its worker; or fail."""
    for task in tasks:
        what, _, mark = task.partition(" ")
        if mark and Path(mark).exists():
            continue
        if mark:
            Path(mark).touch()
        if what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        while what == "hang":
            time.sleep(60)
        if what == "worker":
            # The helper, which the worker started, has forked this process
            stat = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
            time.sleep(60)
        if what == "fail":
            raise LookupError(task)
    return louder(tasks)


def limit(_: str) -> float:
    return 1.0


def for_long(_: str) -> float:
    return 600.0


def lost(task: str, how: str) -> str:
    return f"{task}: {how}"


def itself(task: str) -> str:
    return task


CARE = TaskPolicy[str, str](limit, lost)


# --- equal results ---


def test_results_come_in_the_order_of_the_tasks(workers: Engine) -> None:
    tasks = [f"{number}a" for number in range(1001)]
    assert all_of(workers, louder, tasks, CARE) == louder(tasks)


@linux
def test_processes_and_workers_report_a_killed_task_in_the_same_way(workers: Engine) -> None:
    tasks = [*"abcdef", "die", *"ghi"]
    wanted = all_of(Processes(2), as_named, tasks, CARE)
    assert wanted[6] == "die: was killed by SIGKILL, perhaps for its memory, twice"
    assert all_of(workers, as_named, tasks, CARE) == wanted


@linux
def test_a_task_that_hangs_is_reported_with_its_time_limit(workers: Engine) -> None:
    wanted = ["A", "hang: took more than 1 seconds, twice", "B"]
    assert all_of(workers, as_named, ["a", "hang", "b"], CARE) == wanted


@linux
def test_a_task_is_retried_after_its_process_dies(workers: Engine, tmp_path: Path) -> None:
    tasks = ["a", f"die {tmp_path}/x", "b", f"die {tmp_path}/y"]
    assert all_of(workers, as_named, tasks, CARE) == louder(tasks)


def test_an_exception_of_the_work_is_raised_in_the_caller(workers: Engine) -> None:
    with pytest.raises(LookupError, match="fail"):
        all_of(workers, as_named, ["a", "fail"], CARE)
    assert all_of(workers, louder, ["a"], CARE) == ["A"]


@linux
def test_all_results_arrive_after_a_worker_is_killed(workers: Engine, tmp_path: Path) -> None:
    tasks = [*"abc", f"worker {tmp_path}/mark", *"def"]
    assert all_of(workers, as_named, tasks, CARE) == louder(tasks)
    assert (tmp_path / "mark").exists()


@linux
@pytest.mark.long
def test_a_task_that_kills_every_worker_is_reported(workers: Engine) -> None:
    tasks = [*"abc", "worker", *"def"]
    wanted = louder(tasks)
    wanted[3] = "worker: ended together with its worker, several times"
    assert all_of(workers, as_named, tasks, CARE) == wanted


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A submission with errors in two of its logs."""
    tree = usual(tmp_path)
    tree.log(0, lambda log: log.drop("opt_name"))
    tree.log(1, lambda log: log.drop("seed"))
    return tree.root


@pytest.mark.parametrize("form", ["json", "text", "sarif"])
def test_the_report_equals_that_of_processes(
    form: str, package: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FEW_BYTES", 0)
    # Relative paths, which workers must resolve like the command
    monkeypatch.chdir(package.parent)
    words = ("check", package.name, "--round", "5.1", "--format", form)
    one, two = podium(*words, "--jobs", 2), podium(*words, "--engine", address)
    assert one.exit_code == 1
    assert two == one
    assert podium(*words, "--engine", "processes") == one


def test_the_results_store_equals_that_of_processes(
    package: Path, address: str, tmp_path: Path
) -> None:
    for name, words in {"one": ("--jobs", 2), "two": ("--engine", address)}.items():
        done = podium("results", "build", package, "--output", tmp_path / name, *words)
        assert done.exit_code == 0, done.stderr
    both = filecmp.dircmp(tmp_path / "one", tmp_path / "two")
    (folder,) = both.common_dirs
    names = sorted(path.name for path in (tmp_path / "one" / folder).iterdir())
    same = filecmp.cmpfiles(tmp_path / "one" / folder, tmp_path / "two" / folder, names, False)
    assert same == (names, [], [])
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", both.common_files, False)[0]


# --- batches ---


def test_a_batch_has_a_maximum_size_in_bytes() -> None:
    sizes = [BATCH_BYTES // 4] * 40 + [3 * BATCH_BYTES, 1, 1]
    cut = [*batches(sizes, 2)]
    assert [number for batch in cut for number in batch] == [*range(43)]
    assert [40] in cut
    weights = [sum(sizes[each] + FILE_BYTES for each in batch) for batch in cut if batch != [40]]
    assert max(weights) <= BATCH_BYTES < 2 * max(weights)


def test_small_inputs_are_divided_among_all_workers() -> None:
    sizes = [1 << 20] * 64
    assert [len([*batches(sizes, count)]) for count in (1, 2, 1000)] == [4, 8, 22]
    assert [len(each) for each in batches([0] * 1000, 8)] == [64] * 15 + [40]


# --- selection of the scheduler ---


def test_a_scheduler_can_be_selected_by_its_file(address: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address.partition(":")[2]}))
    with engine_of(f"dask:{file}", 1) as engine:
        assert engine is not None
        assert all_of(engine, louder, ["a"], CARE) == ["A"]


def test_a_scheduler_without_a_worker_is_a_one_line_usage_error(
    good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(connecting, "WORKER_SECONDS", 0.2)
    path = good.write(tmp_path / "result_0.txt")
    with distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=60
    ) as cluster:
        done = podium("check", path, "--engine", f"dask:{cluster.scheduler_address}")
    assert done.exit_code == 2
    assert done.output == (
        f"podium: --engine dask:{cluster.scheduler_address}: the scheduler has no worker; "
        "start one\n"
    )


# --- unusable engines ---


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("threads", "--engine is threads; expected processes, dask or dask:ADDRESS"),
        ("dask:", "--engine is dask:; expected"),
        ("processes:4", "--engine is processes:4; expected"),
        (
            "dask:tcp://me:p@ss@h:1",
            "--engine dask:tcp://h:1: the address of a scheduler must not have a user",
        ),
        ("dask:nowhere.json", "expected an address such as tcp://HOST:PORT, or a scheduler's file"),
        ("dask:tcp://127.0.0.1:1", "--engine dask:tcp://127.0.0.1:1: no scheduler answers: "),
    ],
)
def test_an_unusable_engine_is_a_one_line_usage_error(
    engine: str, words: str, good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "SECONDS", 0.5)
    path = good.write(tmp_path / "result_0.txt")
    done = podium("check", path, "--engine", engine)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.output.count("\n") == 1


def test_a_silent_listener_is_a_one_line_usage_error(
    good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(connecting, "SECONDS", 0.5)
    path = good.write(tmp_path / "result_0.txt")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        engine = f"dask:tcp://127.0.0.1:{listener.getsockname()[1]}"
        done = podium("check", path, "--engine", engine)
    assert done.exit_code == 2
    assert f"--engine {engine}: no scheduler answers: " in done.stderr
    assert done.output.count("\n") == 1


SCHEDULER = """import distributed, sys
with distributed.LocalCluster(
    n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def stop(tasks: list[str]) -> list[str]:
    """Stop the process that each task names, and then sleep."""
    for task in tasks:
        os.kill(int(task), signal.SIGSTOP)
        time.sleep(60)
    return tasks


@linux
def test_a_scheduler_that_stops_answering_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_engine, "PATIENCE", 0.05)
    monkeypatch.setattr(dask_engine, "ANSWER_SECONDS", 5)
    monkeypatch.setattr(connecting, "SECONDS", 2)
    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        care = TaskPolicy[str, str](for_long, lost)
        try:
            with engine_of(f"dask:{address}", 1) as engine:
                assert engine is not None
                with pytest.raises(UsageFault, match="no longer answers"):
                    all_of(engine, stop, [str(process.pid)], care)
        finally:
            process.kill()


@pytest.mark.parametrize("starts", [1, 2])
def test_a_cluster_that_fails_to_start_is_started_once_more(
    starts: int, good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    start, left = distributed.LocalCluster, [starts]

    def failing(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise RuntimeError("Nanny failed to start.\nmore")
        return start(*args, **options)

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    path = good.write(tmp_path / "result_0.txt")
    done = podium("check", path, "--round", good.which.round, "--engine", "dask", "-j", "1")
    assert done.exit_code == (0 if starts == 1 else 2)
    if starts == 2:
        said = "podium: --engine dask: the cluster cannot start: Nanny failed to start.\n"
        assert done.output == said


def test_missing_distributed_is_reported_with_the_pip_command(
    good: LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr(optional_imports, "import_module", missing)
    done = podium("check", good.write(tmp_path / "result_0.txt"), "--engine", "dask")
    assert done.exit_code == 2
    assert (
        done.stderr
        == "podium: --engine dask needs distributed: pip install cryptography dask distributed\n"
    )


def test_another_version_of_podium_on_a_worker_is_refused(
    workers: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_engine, "VERSION", "0.0.1")
    with pytest.raises(UsageFault, match=r"has podium \S+; expected 0\.0\.1"):
        all_of(workers, louder, ["a"], CARE)


@linux
def test_a_file_that_workers_cannot_see_is_a_usage_error(workers: Engine, tmp_path: Path) -> None:
    care = TaskPolicy[str, str](limit, lost, itself)
    (tmp_path / "a").touch()
    missing = str(tmp_path / "b")
    # A file that no process sees is reported by the process that checks it
    assert all_of(workers, louder, [missing], care) == louder([missing])
    with (tmp_path / "a").open() as stream:
        # A free descriptor, so high that the worker has no file with that number
        copy = fcntl.fcntl(stream.fileno(), fcntl.F_DUPFD_CLOEXEC, 900)
        here = f"/proc/self/fd/{copy}"
        try:
            with pytest.raises(UsageFault, match=f"cannot find {here}; use paths"):
                all_of(workers, louder, [here], care)
        finally:
            os.close(copy)


# --- the local cluster ---


def _processes() -> list[Any]:
    psutil = pytest.importorskip("psutil")
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


@linux
def test_the_cluster_listens_on_loopback_and_requires_its_key() -> None:
    distributed = pytest.importorskip("distributed")
    others = {each.pid for each in _processes()}
    with engine_of("dask", 1) as engine:
        assert engine is not None
        assert all_of(engine, louder, ["a"], CARE) == ["A"]
        own = [each for each in _processes() if each.pid not in others or each.pid == os.getpid()]
        ports = {
            port.laddr
            for each in own
            for port in each.net_connections("inet")
            if port.status == "LISTEN"
        }
        assert {ip for ip, _ in ports} == {"127.0.0.1"}
        client, _ = engine._there  # type: ignore[attr-defined]
        scheduler = client.scheduler.address
        assert scheduler.startswith("tls://")
        with pytest.raises(OSError, match=r"."):
            distributed.Client(scheduler.replace("tls", "tcp"), timeout=1, set_as_default=False)
        ended = [each.pid for each in own if each.pid != os.getpid()]
        assert len(ended) >= 2
    assert until(lambda: not any(alive(pid) for pid in ended), 30)


def _interrupted(path: Path, how: Callable[[subprocess.Popen[str]], None]) -> tuple[int, str]:
    """Interrupt a call at a file, assert that no process remains; return the status and errors."""
    psutil = pytest.importorskip("psutil")
    words = [sys.executable, "-m", "podium", "check", str(path), "--engine", "dask", "-j", "2"]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        root = psutil.Process(process.pid)

        def begun() -> bool:
            # A helper, and the process that it forked for the file; either may end at any time
            with suppress(psutil.Error):
                held = root.children(recursive=True)
                return sum("serve" in " ".join(each.cmdline()) for each in held) > 1
            return False

        try:
            assert until(begun, 60)
            started = [each.pid for each in root.children(recursive=True)]
            how(process)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert until(lambda: not any(alive(pid) for pid in started), 30)
    return process.returncode, err


@linux
@pytest.mark.long
@pytest.mark.parametrize("whole", [False, True])
def test_an_interrupt_is_one_line_and_leaves_no_worker(whole: bool, tmp_path: Path) -> None:
    with (tmp_path / "result_0.txt").open("wb") as stream:
        stream.truncate(1 << 40)

    def interrupt(process: subprocess.Popen[str]) -> None:
        # A terminal interrupts all processes that run in it
        (os.killpg if whole else os.kill)(process.pid, signal.SIGINT)

    assert _interrupted(tmp_path, interrupt) == (130, "podium: interrupted\n")


@linux
@pytest.mark.long
def test_workers_end_after_the_command_is_killed(tmp_path: Path) -> None:
    with (tmp_path / "result_0.txt").open("wb") as stream:
        stream.truncate(1 << 40)
    status, err = _interrupted(tmp_path, lambda process: process.kill())
    # The resource tracker of Python may print a message
    assert (status, "Traceback" in err) == (-signal.SIGKILL, False)


def test_the_report_is_the_same_with_workers_and_a_cache(
    package: Path, address: str, tmp_path: Path
) -> None:
    words = ("check", package, "--round", "5.1", "--format", "json")
    plain = podium(*words)
    assert plain.exit_code == 1
    kept = ("--cache-dir", tmp_path.parent / f"{tmp_path.name}-kept")
    for _ in range(2):
        assert podium(*words, *kept, "--engine", address).stdout == plain.stdout
