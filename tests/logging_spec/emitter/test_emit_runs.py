"""The end of a run, the rank that writes, the guard, and the destinations of lines."""

from __future__ import annotations

import contextlib
import io
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podium.logging_spec import Logger, keys
from podium.logging_spec.emitter import ranks
from podium.logging_spec.emitter.emit import GuardViolationError
from podium.logging_spec.emitter.sink import LogNotWrittenError
from podium.logging_spec.emitter.testing import MemorySink, capture
from podium.logging_spec.reader.read import read_log
from tests.locations import ROOT

# --- end of a run ---


def test_an_exception_ends_the_run_as_aborted() -> None:
    log, sink = capture()
    with pytest.raises(KeyError, match="boom"), log.run(), log.block(samples_count=0):
        raise KeyError("boom")
    assert [record.key for record in sink.records] == ["run_start", "block_start", "run_stop"]
    assert sink.records[-1].metadata["status"] == "aborted"


def test_a_run_without_a_reported_success_is_aborted() -> None:
    log, sink = capture()
    with log.run() as run:
        pass
    assert run.status == "aborted"
    assert sink.records[-1].metadata["status"] == "aborted"


def test_a_run_cannot_end_twice() -> None:
    log, sink = capture()
    with log.run() as run:
        run.success()
        with pytest.raises(RuntimeError, match="stopped already"):
            run.abort()
    assert [record.key for record in sink.records] == ["run_start", "run_stop"]


def test_success_accepts_the_time_at_which_the_run_ended() -> None:
    log, sink = capture()
    with log.run() as run:
        run.success(1234, samples_count=8)
    stop = sink.records[-1]
    assert (stop.time_ms, stop.metadata["samples_count"]) == (1234, 8)


# --- ranks ---


@pytest.mark.parametrize(
    ("variables", "rank"),
    [
        ({}, 0),
        ({"SLURM_PROCID": "3"}, 3),
        ({"OMPI_COMM_WORLD_RANK": "2", "SLURM_PROCID": "0"}, 2),
        ({"PMI_RANK": "4"}, 4),
        ({"RANK": "1", "OMPI_COMM_WORLD_RANK": "2"}, 1),
        ({"RANK": "node", "SLURM_PROCID": "5"}, 5),
    ],
)
def test_the_rank_comes_from_the_innermost_launcher(variables: dict[str, str], rank: int) -> None:
    assert ranks.rank(variables) == rank


def test_only_rank_zero_writes(tmp_path: Path) -> None:
    for rank in (1, 0, 2):
        with Logger(tmp_path / f"{rank}.txt", rank=rank) as log, log.run() as run:
            run.success()
    assert [path.name for path in tmp_path.iterdir()] == ["0.txt"]
    assert len(read_log(tmp_path / "0.txt").records) == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_run_start_and_run_stop_call_the_barrier_on_every_rank(rank: int) -> None:
    events: list[str] = []
    sink = MemorySink()
    sink.write = lambda _: events.append("line")  # type: ignore[method-assign, assignment]
    log = Logger(sink, rank=rank, barrier=lambda: events.append("barrier"))
    with log.run() as run:
        log.event("own")
        run.success()
    lines = ["line"] if rank == 0 else []
    assert events == ["barrier", *lines, *lines, "barrier", *lines]


def test_an_exception_ends_the_run_without_a_barrier() -> None:
    met: list[int] = []
    log, _ = capture(barrier=lambda: met.append(1))
    with pytest.raises(KeyError), log.run():
        raise KeyError
    assert len(met) == 1


def test_torch_distributed_is_used_if_it_is_initialized(monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[int] = []
    up = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_rank=lambda: 3,
        barrier=lambda: met.append(1),
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", up)
    monkeypatch.setenv("RANK", "1")
    assert ranks.rank() == 3
    ranks.barrier()
    assert met == [1]
    up.is_initialized = lambda: False
    assert ranks.rank() == 1
    ranks.barrier()
    assert met == [1]


# --- the guard ---


def test_the_guard_checks_each_record_and_can_stop_the_run() -> None:
    seen: list[Any] = []

    def guard(record: Any) -> list[str]:
        seen.append((record.key, record.value, record.event_type))
        return ["too small"] if record.value == 1 else []

    log, sink = capture(guard=guard, on_violation="raise")
    log.event(keys.SEED, np.int64(5))
    with pytest.raises(GuardViolationError, match="too small") as caught:
        log.event(keys.SEED, 1)
    assert caught.value.findings == ("too small",)
    assert seen == [("seed", 5, "POINT_IN_TIME"), ("seed", 1, "POINT_IN_TIME")]
    assert len(sink.lines) == 2


def test_the_guard_checks_a_line_that_waits_for_a_retry() -> None:
    seen: list[Any] = []

    def guard(record: Any) -> list[str]:
        seen.append(record.key)
        return []

    log = Logger("/dev/full", rank=0, guard=guard)
    with pytest.raises(LogNotWrittenError):
        log.event(keys.SEED, 1)
    assert seen == ["seed"]


def test_a_log_that_cannot_be_closed_does_not_hide_an_exception() -> None:
    def run() -> None:
        with Logger("/dev/full", rank=0) as log:
            with contextlib.suppress(LogNotWrittenError):
                log.event(keys.SEED, 1)
            raise KeyError("boom")

    with pytest.raises(KeyError) as caught:
        run()
    assert "1 line is not written" in caught.value.__notes__[0]


def test_the_cache_of_keys_is_bounded() -> None:
    log, sink = capture()
    for number in range(2500):
        log.event(f"own {number}")
    assert len(sink.lines) == 2500
    assert len(log._lines._fields["POINT_IN_TIME"]) < 1100


def test_the_guard_warns_by_default(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture(guard=lambda _: ["bad", "worse"])
    log.event(keys.SEED, 1)
    assert [record.getMessage() for record in caplog.records] == ["bad", "worse"]
    assert len(sink.lines) == 1


# --- destinations ---


def test_the_default_destination_is_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before ")
    Logger(rank=0).event(keys.SEED, 5)
    assert capfd.readouterr().out.startswith("before :::MLLOG")


@pytest.mark.parametrize("stream", [io.StringIO(), io.BytesIO()])
def test_text_and_binary_streams_are_accepted(stream: Any) -> None:
    Logger(stream, rank=0).event(keys.SEED, 5)
    assert len(stream.getvalue().splitlines()) == 1


def test_a_logger_can_write_to_several_destinations(tmp_path: Path) -> None:
    stream = io.StringIO()
    with Logger([tmp_path / "a.txt", stream], rank=0) as log:
        log.event(keys.SEED, 5)
    assert (tmp_path / "a.txt").read_text() == stream.getvalue() != ""


def test_an_unsupported_destination_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot write to a float"):
        Logger(1.5, rank=0)


def test_the_emitter_does_not_import_large_modules() -> None:
    code = (
        "import sys; from podium import Logger; Logger('/dev/null').event('seed', 5); "
        "print([m for m in ('numpy', 'torch', 'pydantic', 'msgspec', 'logging', 'podium.rules',"
        " 'podium.compliance', 'podium.logging_spec.reader.read') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_the_python_logger_of_notes_propagates() -> None:
    assert logging.getLogger("logging_spec").propagate
