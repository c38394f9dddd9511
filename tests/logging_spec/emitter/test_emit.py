"""The logger: its lines, its values, and the values that it refuses."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.logging_spec import keys
from podium.logging_spec.emitter.testing import MemorySink, capture
from podium.logging_spec.emitter.values import UnloggableValueError
from podium.logging_spec.reader.record import record_schema


def said(sink: MemorySink) -> list[tuple[str, Any]]:
    return [(record.key, record.value) for record in sink.records]


def test_a_line_has_the_fields_of_the_format_in_order() -> None:
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
def test_every_line_is_valid_ascii_and_reads_back_unchanged(
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
    """A stand-in for a tensor, with only the method that the emitter uses."""

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
def test_values_of_frameworks_are_logged_as_plain_values(value: Any, logged: Any) -> None:
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
        (keys.OPT_NAME, 5, "must be a string"),
        (keys.CACHE_CLEAR, 1, "must be true or false"),
        (keys.RUN_START, 1, "must be null"),
        ("opt_name", None, "must be a string"),
        (keys.EVAL_ACCURACY, object(), "a object has no JSON form"),
        (keys.EVAL_ACCURACY, float("nan"), "NaN or Infinity"),
        (keys.EVAL_ACCURACY, [np.float32("inf")], "NaN or Infinity"),
        (keys.SEED, float("nan"), "NaN or Infinity"),
        ("own", {(1, 2): 3}, "keys must be"),
    ],
)
def test_an_invalid_value_raises_an_error_that_names_the_call_site(
    key: Any, value: Any, reason: str
) -> None:
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


def test_invalid_metadata_raises_an_error() -> None:
    log, _ = capture()
    with pytest.raises(UnloggableValueError, match="NaN or Infinity"):
        log.event("own", 1, {"loss": float("inf")})
    with pytest.raises(UnloggableValueError, match="own: "):
        log.event("own", 1, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [8, 8.0, np.int32(8), Tensor(8)])
def test_an_integer_may_be_a_float_a_numpy_value_or_a_tensor(value: Any) -> None:
    log, sink = capture()
    log.event(keys.SEED, value)
    assert said(sink) == [("seed", 8)]


def test_nonfinite_numbers_are_written_as_words_if_requested() -> None:
    log, sink = capture(nonfinite="words")
    log.event("eval_loss", float("nan"), {"worst": [float("-inf")]})
    assert '"value": NaN' in sink.lines[0]
    assert '"worst": [-Infinity]' in sink.lines[0]


def test_invalid_values_are_notes_instead_of_exceptions_in_note_mode(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log, sink = capture(errors="note")
    log.event(keys.SEED, "5")
    log.event("own", object())
    log.event("own", 1)
    assert said(sink) == [("seed", "5"), ("own", 1)]
    notes = [record.getMessage() for record in caplog.records]
    assert [note.partition(":")[0] for note in notes] == ["seed", "own"]


def test_a_misspelled_key_is_noted_once(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture()
    for _ in range(3):
        log.event("global_batchsize", 5)
    assert [record.getMessage() for record in caplog.records] == [
        "global_batchsize is not a standard key; did you mean global_batch_size?"
    ]
    assert len(sink.lines) == 3


def test_times_from_the_clock_never_decrease() -> None:
    times = iter([5, 3, 9])
    log, sink = capture(clock=lambda: next(times))
    for _ in range(3):
        log.event("own")
    log.event("own", time_ms=4)
    assert [record.time_ms for record in sink.records] == [5, 5, 9, 4]


def test_root_dir_and_stack_offset_change_the_call_site() -> None:
    log, sink = capture(root_dir=str(Path(__file__).parent), stack_offset=1)

    def helper() -> None:
        log.event("own")

    helper()
    line = sys._getframe().f_lineno - 1
    assert sink.records[0].metadata == {"file": "test_emit.py", "lineno": line}
