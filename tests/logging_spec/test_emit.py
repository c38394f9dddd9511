"""The logger one holds: its records, its refusals, its ranks and its guard."""

from __future__ import annotations

import enum
import io
import logging
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logging_spec import Logger, keys, ranks
from logging_spec.emit import GuardViolationError
from logging_spec.read import read_log
from logging_spec.record import record_schema
from logging_spec.testing import MemorySink, capture
from logging_spec.values import UnloggableValueError

_ROOT = Path(__file__).parents[2]


def said(sink: MemorySink) -> list[tuple[str, Any]]:
    return [(record.key, record.value) for record in sink.records]


def test_a_line_has_the_fields_of_the_format_in_their_order() -> None:
    log, sink = capture(clock=lambda: 7, namespace="é")
    log.event(keys.SEED, 5, {"epoch_num": 1})
    line = sys._getframe().f_lineno - 1
    (written,) = sink.lines
    assert written == (
        ':::MLLOG {"namespace": "\\u00e9", "time_ms": 7, "event_type": "POINT_IN_TIME", '
        '"key": "seed", "value": 5, '
        f'"metadata": {{"file": "{__file__}", "lineno": {line}, "epoch_num": 1}}}}\n'
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["start", "end", "event"]),
    st.text(min_size=1).filter(lambda name: name not in keys.ALL),
    json_values,
    st.none() | st.dictionaries(st.text(), json_values, max_size=3),
    st.booleans(),
)
def test_every_line_is_ascii_valid_and_read_back_as_given(
    method: str, key: str, value: Any, metadata: dict[str, Any] | None, call_sites: bool
) -> None:
    log, sink = capture(call_sites=call_sites)
    getattr(log, method)(key, value, metadata)
    (line,) = sink.lines
    assert line.isascii()
    assert line.count("\n") == 1
    token, _, body = line.partition(" ")
    assert token == ":::MLLOG"
    jsonschema.validate(msgspec.json.decode(body), record_schema())
    (record,) = sink.records
    assert (record.key, record.value) == (key, value)
    kept = dict(record.metadata)
    assert call_sites == bool(kept.keys() & {"file", "lineno"} - (metadata or {}).keys()) or (
        metadata or {}
    ).keys() >= {"file", "lineno"}
    for name in {"file", "lineno"} - (metadata or {}).keys():
        kept.pop(name, None)
    assert kept == (metadata or {})


def test_every_helper_writes_valid_lines() -> None:
    log, sink = capture()
    with log.init():
        log.submission(benchmark="llama31_8b", division="closed", org="a", platform="b")
        log.disclosure(tensor_parallelism=8, lowest_numerical_precision_in_attn="fp8")
    with log.run() as run:
        with log.epoch(1), log.block(first_epoch_num=1, epoch_count=2):
            pass
        with log.evaluation(epoch_num=2, metric="FID") as evaluation:
            evaluation.accuracy(0.5)
            evaluation.error(0.25)
        run.success(epoch_num=2)
    schema = record_schema()
    for line in sink.lines:
        jsonschema.validate(msgspec.json.decode(line.removeprefix(":::MLLOG ")), schema)
    assert [record.key for record in sink.records] == [
        "init_start",
        *("submission_benchmark", "submission_division", "submission_org", "submission_platform"),
        *("tensor_parallelism", "lowest_numerical_precision_in_attn"),
        *("init_stop", "run_start", "epoch_start", "block_start", "block_stop", "epoch_stop"),
        *("eval_start", "eval_accuracy", "eval_error", "eval_stop", "run_stop"),
    ]
    assert all(
        record.metadata["file"] == __file__ and record.metadata["lineno"] > 0
        for record in sink.records
    )
    at = {record.key: record.metadata for record in sink.records}
    assert at["block_start"].items() >= {"first_epoch_num": 1, "epoch_count": 2}.items()
    assert "epoch_count" not in at["block_stop"]
    assert at["eval_accuracy"].items() >= {"epoch_num": 2, "metric": "FID"}.items()
    assert at["run_stop"].items() >= {"epoch_num": 2, "status": "success"}.items()


class Precision(enum.Enum):
    HALF = "fp16"


class Tensor:
    """What the emitter sees of a tensor."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def tolist(self) -> Any:
        return self._value


@pytest.mark.parametrize(
    ("value", "logged"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.arange(3), [0, 1, 2]),
        (Tensor(0.25), 0.25),
        (Tensor([1, 2]), [1, 2]),
        (SimpleNamespace(numpy=lambda: np.float32(2.0)), 2.0),
        ({"a": Tensor(1), "b": [np.int8(2)]}, {"a": 1, "b": [2]}),
        (Precision.HALF, "fp16"),
        (Path("a") / "b", "a/b"),
        ((1, 2), [1, 2]),
    ],
)
def test_values_of_frameworks_are_logged_as_plain_ones(value: Any, logged: Any) -> None:
    log, sink = capture()
    log.event("tracked_stats", value, {"at": value})
    (record,) = sink.records
    assert (record.value, record.metadata["at"]) == (logged, logged)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (keys.SEED, "5", "value is '5' (str); must be a whole number"),
        (keys.SEED, True, "must be a whole number"),
        (keys.GLOBAL_BATCH_SIZE, 1.5, "must be a whole number of samples"),
        (keys.OPT_WEIGHT_DECAY, "0.1", "must be a number"),
        (keys.OPT_NAME, 5, "must be a text"),
        (keys.CACHE_CLEAR, 1, "must be true or false"),
        (keys.RUN_START, 1, "must be null"),
        ("opt_name", None, "must be a text"),
        (keys.EVAL_ACCURACY, object(), "a object has no JSON form"),
        (keys.EVAL_ACCURACY, float("nan"), "NaN or Infinity"),
        (keys.EVAL_ACCURACY, [np.float32("inf")], "NaN or Infinity"),
        (keys.SEED, float("nan"), "NaN or Infinity"),
        ("own", {(1, 2): 3}, "keys must be"),
    ],
)
def test_a_value_that_does_not_fit_raises_at_the_call(key: Any, value: Any, reason: str) -> None:
    log, sink = capture()
    with pytest.raises(UnloggableValueError) as caught:
        log.event(key, value)
    line = sys._getframe().f_lineno - 1
    name = key if isinstance(key, str) else key.name
    message = str(caught.value)
    assert message.startswith(f"{name}: ")
    assert reason in message
    assert message.endswith(f"({__file__}:{line})")
    assert sink.lines == []


def test_metadata_is_held_to_the_same() -> None:
    log, _ = capture()
    with pytest.raises(UnloggableValueError, match="NaN or Infinity"):
        log.event("own", 1, {"loss": float("inf")})
    with pytest.raises(UnloggableValueError, match="own: "):
        log.event("own", 1, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [8, 8.0, np.int32(8), Tensor(8)])
def test_a_whole_number_may_be_written_in_any_way(value: Any) -> None:
    log, sink = capture()
    log.event(keys.SEED, value)
    assert said(sink) == [("seed", 8)]


def test_nan_is_a_bare_word_when_asked_for() -> None:
    log, sink = capture(nonfinite="words")
    log.event("eval_loss", float("nan"), {"worst": [float("-inf")]})
    assert '"value": NaN' in sink.lines[0]
    assert '"worst": [-Infinity]' in sink.lines[0]


def test_the_compatible_mode_notes_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture(errors="note")
    log.event(keys.SEED, "5")
    log.event("own", object())
    log.event("own", 1)
    assert said(sink) == [("seed", "5"), ("own", 1)]
    notes = [record.getMessage() for record in caplog.records]
    assert [note.partition(":")[0] for note in notes] == ["seed", "own"]


def test_a_misspelt_key_is_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture()
    for _ in range(3):
        log.event("global_batchsize", 5)
    assert [record.getMessage() for record in caplog.records] == [
        "global_batchsize is no standard key; global_batch_size is"
    ]
    assert len(sink.lines) == 3


def test_time_never_goes_back() -> None:
    times = iter([5, 3, 9])
    log, sink = capture(clock=lambda: next(times))
    for _ in range(3):
        log.event("own")
    log.event("own", time_ms=4)
    assert [record.time_ms for record in sink.records] == [5, 5, 9, 4]


def test_root_dir_and_stack_offset_shape_the_call_site() -> None:
    log, sink = capture(root_dir=str(Path(__file__).parent), stack_offset=1)

    def helper() -> None:
        log.event("own")

    helper()
    line = sys._getframe().f_lineno - 1
    assert sink.records[0].metadata == {"file": "test_emit.py", "lineno": line}


# --- configurations ---


@dataclass
class Plain:
    opt_name: str = "adamw"
    global_batch_size: int = 32
    seed: int = 1
    workers: int = 4
    status: str = "no declaration"
    opt_momentum: float | None = None


class Model(pydantic.BaseModel):
    opt_name: str = "adamw"
    global_batch_size: int = 32
    seed: int = 1
    workers: int = 4


@pytest.mark.parametrize(
    "config", [Plain(), Model(), {"opt_name": "adamw", "global_batch_size": 32, "seed": 1, "x": 2}]
)
def test_hyperparameters_come_from_any_kind_of_config(config: object) -> None:
    log, sink = capture()
    logged = log.hyperparameters(config)
    assert logged == ("opt_name", "global_batch_size", "seed")
    assert said(sink) == [("opt_name", "adamw"), ("global_batch_size", 32), ("seed", 1)]


def test_members_may_have_names_of_their_own() -> None:
    log, sink = capture()
    log.hyperparameters({"lr": 0.5}, rename={"lr": keys.OPT_BASE_LEARNING_RATE})
    assert said(sink) == [("opt_base_learning_rate", 0.5)]


def test_a_misspelt_member_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture()
    log.hyperparameters({"opt_adamw_beta1": 0.9})
    assert "opt_adamw_beta_1" in caplog.text
    assert sink.lines == []


def test_what_is_no_config_is_refused() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="int is no mapping"):
        log.hyperparameters(5)


def test_disclosures_are_keys_of_that_kind() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="tensor_paralelism is no standard key"):
        log.disclosure(tensor_paralelism=8)
    with pytest.raises(TypeError, match="seed is no disclosure key"):
        log.disclosure(seed=8)


def test_positions_are_asked_for() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="a block needs"):
        log.block(first_epoch_num=1)
    with pytest.raises(TypeError, match="an evaluation needs"):
        log.evaluation()


# --- how a run ends ---


def test_an_exception_ends_the_run_as_aborted() -> None:
    log, sink = capture()
    with pytest.raises(KeyError, match="boom"), log.run(), log.block(samples_count=0):
        raise KeyError("boom")
    assert [record.key for record in sink.records] == ["run_start", "block_start", "run_stop"]
    assert sink.records[-1].metadata["status"] == "aborted"


def test_a_run_that_claims_no_success_is_aborted() -> None:
    log, sink = capture()
    with log.run() as run:
        pass
    assert run.status == "aborted"
    assert sink.records[-1].metadata["status"] == "aborted"


def test_a_run_ends_once() -> None:
    log, sink = capture()
    with log.run() as run:
        run.success()
        with pytest.raises(RuntimeError, match="stopped already"):
            run.abort()
    assert [record.key for record in sink.records] == ["run_start", "run_stop"]


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
def test_the_rank_is_that_of_the_closest_launcher(variables: dict[str, str], rank: int) -> None:
    assert ranks.rank(variables) == rank


def test_only_rank_zero_writes(tmp_path: Path) -> None:
    for rank in (1, 0, 2):
        with Logger(tmp_path / f"{rank}.txt", rank=rank) as log, log.run() as run:
            run.success()
    assert [path.name for path in tmp_path.iterdir()] == ["0.txt"]
    assert len(read_log(tmp_path / "0.txt").records) == 2


@pytest.mark.parametrize("rank", [0, 1])
def test_all_ranks_meet_at_run_start_and_run_stop(rank: int) -> None:
    events: list[str] = []
    sink = MemorySink()
    sink.write = lambda _: events.append("line")  # type: ignore[method-assign]
    log = Logger(sink, rank=rank, barrier=lambda: events.append("barrier"))
    with log.run() as run:
        log.event("own")
        run.success()
    lines = ["line"] if rank == 0 else []
    assert events == ["barrier", *lines, *lines, "barrier", *lines]


def test_no_rank_waits_when_an_exception_ends_the_run() -> None:
    met: list[int] = []
    log, _ = capture(barrier=lambda: met.append(1))
    with pytest.raises(KeyError), log.run():
        raise KeyError
    assert len(met) == 1


def test_torch_distributed_is_asked_when_it_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_guard_sees_each_record_and_may_stop_the_run() -> None:
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


def test_the_guard_warns_by_default(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture(guard=lambda _: ["bad", "worse"])
    log.event(keys.SEED, 1)
    assert [record.getMessage() for record in caplog.records] == ["bad", "worse"]
    assert len(sink.lines) == 1


# --- where lines go ---


def test_stdout_is_the_default(capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before ")
    Logger(rank=0).event(keys.SEED, 5)
    assert capfd.readouterr().out.startswith("before :::MLLOG")


@pytest.mark.parametrize("stream", [io.StringIO(), io.BytesIO()])
def test_any_stream_will_do(stream: Any) -> None:
    Logger(stream, rank=0).event(keys.SEED, 5)
    assert len(stream.getvalue().splitlines()) == 1


def test_several_places_at_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    with Logger([tmp_path / "a.txt", stream], rank=0) as log:
        log.event(keys.SEED, 5)
    assert (tmp_path / "a.txt").read_text() == stream.getvalue() != ""


def test_what_cannot_be_written_to_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot write to a float"):
        Logger(1.5, rank=0)


def test_emitting_imports_nothing_heavy() -> None:
    code = (
        "import sys; from logging_spec import Logger; Logger('/dev/null').event('seed', 5); "
        "print([m for m in ('numpy', 'torch', 'pydantic', 'msgspec', 'logging', 'rules',"
        " 'compliance', 'logging_spec.read') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_ROOT
    )
    assert done.stdout.strip() == "[]"


def test_notes_go_to_the_program_s_logging() -> None:
    assert logging.getLogger("logging_spec").propagate
