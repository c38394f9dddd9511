"""`podium run` on the command line: logs, options and errors."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli.entry import run as command
from podium.logging_spec import Logger
from podium.reference_runs.catalogue import find, names
from podium.reference_runs.engine.launch import run, run_request
from podium.reference_runs.engine.setting import Setting
from podium.reference_runs.errors import RunAborted
from podium.reference_runs.parallel.mesh import Mesh
from podium.rules.catalogue import USAGES, rounds_of
from tests.locations import ROOT

torch = pytest.importorskip("torch")

SHORT = ("--set", "last_step=6", "--set", "evaluation_interval=48", "--set", "train_samples=256")


def podium(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which has imported torch already."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(["run", *map(str, arguments)])
    return subprocess.CompletedProcess([], status, out.getvalue(), err.getvalue())


def elsewhere(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "podium", "run", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **variables},
        timeout=300,
        check=False,
    )


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log."""
    return [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]


def records(path: Path, key: str) -> list[Any]:
    """Return the values of a log's records of one key."""
    return [record["value"] for record in lines(path) if record["key"] == key]


def without_times(path: Path) -> list[tuple[Any, ...]]:
    """Return the records of a log without their times."""
    return [(r["event_type"], r["key"], r["value"], r["metadata"]) for r in lines(path)]


# --- logs ---


def test_each_run_has_its_own_log_and_seed(tmp_path: Path) -> None:
    done = podium("llama31_8b", *SHORT, "--runs", 2, "--seed", 5, "--output", tmp_path, "-q")
    assert done.returncode == 1, done.stderr  # too few steps to reach the target
    assert [records(tmp_path / f"result_{n}.txt", "seed") for n in (0, 1)] == [[5], [6]]


def test_a_second_run_adds_a_log_and_does_not_overwrite_the_first(tmp_path: Path) -> None:
    podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    before = (tmp_path / "result_0.txt").read_bytes()
    podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    assert (tmp_path / "result_0.txt").read_bytes() == before
    assert records(tmp_path / "result_1.txt", "seed") == [2]


def test_the_same_seed_gives_the_same_log_except_for_times(tmp_path: Path) -> None:
    for name in ("one", "two"):
        podium("llama31_8b", *SHORT, "--output", tmp_path / name, "-q")
    one, two = (without_times(tmp_path / name / "result_0.txt") for name in ("one", "two"))
    assert one == two


@pytest.mark.long
def test_two_ranks_have_the_loss_of_one_rank(tmp_path: Path) -> None:
    podium("llama31_8b", *SHORT, "--output", tmp_path / "one", "-q")
    done = elsewhere("llama31_8b", *SHORT, "--output", tmp_path / "two", "-q", "--processes", 2)
    assert "Traceback" not in done.stderr
    one, two = (records(tmp_path / n / "result_0.txt", "tracked_stats") for n in ("one", "two"))
    assert [r["train_loss"] for r in two] == pytest.approx([r["train_loss"] for r in one], rel=1e-4)


@pytest.mark.long
def test_ranks_share_the_seed_of_each_of_several_runs(tmp_path: Path) -> None:
    for name, ranks in (("one", 1), ("two", 2)):
        words = ("--output", tmp_path / name, "-q", "--runs", 3, "--processes", ranks)
        assert "Traceback" not in elsewhere("llama31_8b", *SHORT, *words).stderr
    for number in range(3):
        one, two = (
            records(tmp_path / name / f"result_{number}.txt", "tracked_stats")
            for name in ("one", "two")
        )
        losses = [each["train_loss"] for each in one]
        assert losses
        assert [each["train_loss"] for each in two] == pytest.approx(losses, rel=1e-4)


@pytest.mark.long
def test_sharded_state_and_gradient_accumulation_do_not_change_the_loss(tmp_path: Path) -> None:
    podium("llama31_8b", *SHORT, "--output", tmp_path / "one", "-q")
    extra = ("--shard", "--processes", 2, "--set", "gradient_accumulation_steps=2")
    done = elsewhere("llama31_8b", *SHORT, "--output", tmp_path / "two", "-q", *extra)
    assert "Traceback" not in done.stderr
    one, two = (records(tmp_path / n / "result_0.txt", "tracked_stats") for n in ("one", "two"))
    assert [r["train_loss"] for r in two] == pytest.approx([r["train_loss"] for r in one], rel=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_trains_and_is_disclosed(precision: str, tmp_path: Path) -> None:
    done = podium("llama31_8b", *SHORT, "--precision", precision, "--output", tmp_path, "-q")
    assert "aborted at step 6" in done.stdout, done.stderr
    disclosed = records(tmp_path / "result_0.txt", "lowest_numerical_precision_in_linear")
    assert disclosed == [{"bf16": "bfloat16"}.get(precision, precision)]


@pytest.mark.parametrize(("round_name", "token"), [("0.5", ":::MLPv0.5.0 "), ("0.6", ":::MLL ")])
def test_a_run_of_an_older_round_has_its_line_format(
    round_name: str, token: str, tmp_path: Path
) -> None:
    from podium.logging_spec import read_log

    podium("llama31_8b", *SHORT, "--round", round_name, "--output", tmp_path, "-q")
    path = tmp_path / "result_0.txt"
    assert all(line.startswith(token) for line in path.read_text().splitlines())
    assert not read_log(path).faults


def test_a_log_states_that_it_is_not_an_mlperf_result(tmp_path: Path) -> None:
    podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    path = tmp_path / "result_0.txt"
    assert records(path, "submission_status") == ["research"]
    assert "synthetic" in records(path, "submission_platform")[0]
    assert any("no MLPerf result" in note for note in records(path, "podium_note"))


def test_a_trace_is_written_and_its_tables_are_printed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    few = ("--set", "last_step=12", "--set", "evaluation_interval=192", "--trace", trace)
    done = podium("llama31_8b", *SHORT[4:], *few, "--output", tmp_path / "logs", "-q")
    assert json.loads(trace.read_text())["traceEvents"]
    assert "blocks.0.attention" in done.stdout
    assert "aten::" in done.stdout


@pytest.mark.long
def test_a_killed_run_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    log, state = tmp_path / "logs" / "result_0.txt", tmp_path / "state.pt"
    options = ("--set", "evaluation_interval=48", "--set", "last_step=40", "--checkpoint", state)
    words = [sys.executable, "-m", "podium", "run", "llama31_8b", "-q", "--set"]
    words += ["train_samples=1024", *map(str, options), "--output", str(log.parent)]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL)
    _wait_for(state)
    child.kill()
    child.wait()
    resumed = subprocess.run([*words, "--resume"], cwd=ROOT, check=False)
    assert resumed.returncode == 1
    keys = [record["key"] for record in lines(log)]
    assert (keys.count("run_start"), keys.count("run_stop")) == (1, 1)
    steps = [each["metadata"]["step"] for each in lines(log) if each["key"] == "tracked_stats"]
    assert steps[-1] == 39
    assert sorted(set(steps)) == list(range(3, 40, 3))
    assert (keys.count("train_samples"), keys.count("eval_samples")) == (1, 1)
    again = subprocess.run([*words, "--resume"], cwd=ROOT, check=False, stderr=subprocess.PIPE)
    assert again.returncode == 2
    assert b"has ended" in again.stderr


def _wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise TimeoutError(path)


def test_a_run_ends_at_the_last_evaluation_before_last_step(tmp_path: Path) -> None:
    done = podium("llama31_8b", *SHORT[2:], "--set", "last_step=5", "--output", tmp_path, "-q")
    assert "aborted at step 3 " in done.stdout, done.stderr


# --- lists and errors ---


def test_every_benchmark_is_listed() -> None:
    done = podium("--list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(names())
    assert (
        "rgat             Graph node classification: R-GAT on IGBH-Full (Training 4.0 to 5.1)"
        in (done.stdout.splitlines())
    )


def test_every_benchmark_of_every_round_has_a_trainer() -> None:
    of_trainers: dict[tuple[str, str], set[str]] = {}
    for benchmark in map(find, names()):
        config = benchmark.reference()
        for each in (*benchmark.rounds, "0.5", "0.6"):  # any trainer can write these two formats
            of_trainers.setdefault((benchmark.usage, each), set()).add(config.benchmark_in(each))
    lacking: set[str] = set()
    for usage in USAGES:
        for each, rules in rounds_of(usage).items():
            # The official checker keeps the rules of retired benchmarks
            ran = set(rules.benchmarks) - set(rules.retired_with_rules)
            lacking |= ran - of_trainers.get((usage, each), set())
    assert not lacking


REAL = ("--scale", "reference")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("llama31_8",), "did you mean llama31_8b"),
        (("llama31_8b", "--set", "opt_base_learning_rat=1"), "did you mean opt_base_learning_rate"),
        (
            ("llama31_8b", "--set", "last_step=many"),
            "--set last_step is 'many'; expected a value like",
        ),
        (("llama31_8b", "--set", "last_step"), "expected KEY=VALUE"),
        (("llama31_8b", "--round", "4.0"), "llama31_8b was in 5.1, 6.0, 6.1"),
        (
            ("llama31_8b", "--scale", "reference"),
            "--data is required at reference scale: train.bin",
        ),
        (("llama31_8b", "--data", "."), "--data requires --scale reference"),
        (("llama31_8b", *REAL, "--data", "/no/such"), "folder /no/such does not exist"),
        (
            ("llama31_8b", "--set", "gradient_accumulation_steps=3"),
            "expected a multiple of 3 micro",
        ),
        (("llama31_8b", "--set", "last_step=47"), "last_step is 47; expected 48 or more"),
        (("llama31_8b", "--allow-subset"), "--allow-subset requires --scale reference"),
        (
            ("resnet", *REAL, "--data", ".", "--allow-subset", "--division", "closed"),
            "--allow-subset requires --division open",
        ),
        (("llama31_8b", "--device", "abacus"), "--device is abacus; expected auto, cpu or cuda"),
        (("llama31_8b", "--resume"), "--resume: log "),
    ],
)
def test_a_bad_argument_is_an_error_of_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = podium(*arguments, "--output", tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_trainer_that_lacks_methods_is_reported_with_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.reference_runs.benchmarks.sentiment import train
    from podium.reference_runs.engine.task import Task

    class Unfinished(train.TASK):
        evaluate = Task.evaluate
        loss = Task.loss

    monkeypatch.setattr(train, "TASK", Unfinished)
    done = podium("sentiment", "--output", tmp_path / "log")
    assert done.returncode == 2
    assert done.stderr.startswith("podium: tests.reference_runs.engine.test_run_command.")
    assert done.stderr.endswith(
        "Unfinished does not define the methods evaluate, loss; every trainer must\n"
    )


def test_a_missing_cuda_device_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = podium("llama31_8b", "--device", "cuda", "--output", tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "no CUDA device is visible" in done.stderr


def test_an_out_of_memory_error_names_the_options_that_reduce_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(
        "podium.reference_runs.modeling.language.pretraining.LanguageModel.loss", exhausted
    )
    done = podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "gradient_accumulation_steps" in done.stderr
    assert "--mesh fsdp=N" in done.stderr
    assert "--plan" in done.stderr
    assert "--shard" not in done.stderr
    assert lines(tmp_path / "result_0.txt")[-1]["metadata"]["status"] == "aborted"


@pytest.mark.parametrize(
    ("part", "said"),
    [("step", "the training loss is nan at step 1: "), ("evaluate", "log perplexity is nan at")],
)
def test_a_nan_loss_or_quality_aborts_the_run(
    part: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nan = torch.tensor(torch.nan) if part == "step" else math.nan
    monkeypatch.setattr(f"podium.reference_runs.engine.stepper.Stepper.{part}", lambda *_: nan)
    done = podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert said in done.stderr
    assert "bug" not in done.stderr
    assert lines(tmp_path / "result_0.txt")[-1]["metadata"]["status"] == "aborted"


@pytest.mark.parametrize(
    ("setting", "axes", "advice"),
    [
        (Setting(), ("dp", "fsdp"), ["--precision bf16", "--mesh fsdp=N"]),
        (Setting(precision="bf16", mesh=Mesh(fsdp=2)), ("dp", "fsdp"), ["further with --mesh"]),
        (Setting(precision="bf16"), (), ["--shard"]),
    ],
)
def test_memory_advice_names_only_options_that_the_run_supports(
    setting: Setting, axes: tuple[str, ...], advice: list[str]
) -> None:
    from podium.reference_runs.engine.machine.plain_errors import less_memory

    said = less_memory(setting, axes)
    options = ("--precision bf16", "--mesh fsdp=N", "further with --mesh", "--shard")
    assert [each for each in options if each in said] == advice


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("[Rank 0] Watchdog caught collective operation timeout"), "another rank"),
        (RuntimeError("Timed out waiting 600000ms for recv operation"), "another rank has ended"),
        (torch.distributed.DistBackendError("NCCL error: unhandled"), "cannot communicate"),
    ],
)
def test_a_communication_failure_is_an_error_of_one_line(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(
        "podium.reference_runs.modeling.language.pretraining.LanguageModel.loss", fail
    )
    done = podium("llama31_8b", *SHORT, "--output", tmp_path, "-q")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert said in done.stderr


def test_one_device_for_several_ranks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    done = podium("llama31_8b", "--device", "cuda:1", "--output", tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "--device is cuda:1, shared by 2 ranks; use --device cuda" in done.stderr


@pytest.mark.long
def test_a_run_on_a_mesh_prints_nothing_to_stderr(tmp_path: Path) -> None:
    done = elsewhere("llama31_8b", *SHORT, "--output", tmp_path, "-q", "--mesh", "tp=2")
    assert done.stderr == ""


def test_one_rank_of_a_node_drops_cached_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.reference_runs.log.declare import clear_caches

    (tmp_path / "train.bin").write_bytes(b"1")
    opened = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *words: opened.append(words))
    for local, count in (("1", 0), ("0", 1)):
        monkeypatch.setenv("LOCAL_RANK", local)
        with Logger(io.StringIO(), rank=int(local)) as log:
            clear_caches(log, Setting(data=tmp_path))
        assert len(opened) == count


def test_a_missing_data_file_is_an_error_and_leaves_no_log(tmp_path: Path) -> None:
    data, logs = tmp_path / "data", tmp_path / "logs"
    data.mkdir()
    done = podium("llama31_8b", "--scale", "reference", "--data", data, "--output", logs)
    assert done.returncode == 2
    assert "train.bin" in done.stderr
    assert list(logs.iterdir()) == []


def test_a_missing_torch_is_reported_and_a_dry_log_works_without_it(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('No module named torch')")
    hidden = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}"}
    done = elsewhere("llama31_8b", "--output", tmp_path / "logs", **hidden)
    assert done.returncode == 2
    assert "pip install torch" in done.stderr
    assert elsewhere("llama31_8b", "--dry-log", **hidden).stdout.startswith(":::MLLOG")


@pytest.mark.long
def test_a_run_stopped_by_sigterm_is_logged_as_aborted(tmp_path: Path) -> None:
    log = tmp_path / "result_0.txt"
    words = [sys.executable, "-m", "podium", "run", "llama31_8b", "--output", str(tmp_path)]
    child = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while not (log.exists() and "block_start" in log.read_text()):
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "stopped by SIGTERM" in said
    assert lines(log)[-1]["metadata"]["status"] == "aborted"


class Dropped:
    """An object that sends SIGTERM in its destructor, whose exceptions Python ignores."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_run_stopped_in_a_destructor_is_logged_as_aborted(tmp_path: Path) -> None:
    log, reported = tmp_path / "result_0.txt", []

    def watch(_progress: object) -> None:
        if not reported:
            reported.append(True)
            Dropped()

    request = run_request("ncf", Setting(seed=1, device="cpu", cache=tmp_path), {}, (None, None))
    with pytest.raises(RunAborted, match="stopped by SIGTERM"):
        run(request, log, watch)
    assert lines(log)[-1]["metadata"]["status"] == "aborted"


def test_a_signal_does_not_interrupt_the_writing_of_run_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When another rank dies, torchrun's SIGTERM can arrive while the log is being closed."""
    log, write = tmp_path / "result_0.txt", os.write

    def interrupted(file: int, data: bytes) -> int:
        if b"run_stop" in data:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        return write(file, data)

    def fail(_progress: object) -> None:
        raise RuntimeError("a rank was lost")

    monkeypatch.setattr(os, "write", interrupted)
    request = run_request("ncf", Setting(seed=1, device="cpu", cache=tmp_path), {}, (None, None))
    with pytest.raises(RuntimeError, match="a rank was lost"):
        run(request, log, fail)
    assert lines(log)[-1]["metadata"]["status"] == "aborted"


@pytest.mark.long
def test_a_run_with_a_killed_rank_is_logged_as_aborted(tmp_path: Path) -> None:
    log = tmp_path / "result_0.txt"
    words = [sys.executable, "-m", "podium", "run", "llama31_8b", "-q", "--processes", "2"]
    child = subprocess.Popen(
        [*words, "--output", str(tmp_path)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    while not (log.exists() and "block_start" in log.read_text()):
        time.sleep(0.1)
    os.kill(_rank(child.pid, "1"), signal.SIGKILL)
    _, said = child.communicate(timeout=120)
    assert child.returncode != 0
    assert "Traceback" not in said
    assert lines(log)[-1]["metadata"]["status"] == "aborted"


def _rank(parent: int, number: str) -> int:
    """Return the process ID of a rank, found by the environment of the parent's children."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "stat").read_text().rpartition(")")[2].split()
            variables = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if int(status[1]) == parent and f"RANK={number}".encode() in variables:
            return int(path.name)
    raise AssertionError("no such rank")


@pytest.mark.long
def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ranks = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        done = elsewhere("llama31_8b", "--output", tmp_path, **ranks, MASTER_PORT=str(port))
    assert done.returncode == 2
    assert f"port {port} is in use" in done.stderr
    assert "Traceback" not in done.stderr
