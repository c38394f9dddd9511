"""The drop-in logger, compared with the official logging library that existing scripts use."""

from __future__ import annotations

import collections
import contextlib
import importlib
import io
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.logging_spec import keys, mllog
from podium.logging_spec.mllog import constants
from podium.logging_spec.mllog import mllog as ours
from podium.logging_spec.mllog.handlers import AppendingHandler
from podium.logging_spec.mllog.mllog import MLLogger
from podium.logging_spec.reader.read import parse_log
from tests.locations import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

theirs = importlib.import_module("mlperf_logging.mllog.mllog")


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append((record.levelname, record.getMessage()))


def pair(**settings_: Any) -> tuple[Any, Any, Kept, Kept]:
    """Return a logger of each library, and the handlers that keep their messages."""
    kept = Kept(), Kept()
    loggers = []
    for handler, kind in zip(kept, (MLLogger, theirs.MLLogger), strict=True):
        plain = logging.Logger(f"fuzz {kind.__module__}", logging.INFO)
        plain.addHandler(handler)
        loggers.append(kind(plain, **settings_))
    return *loggers, *kept


def without_times(text: str) -> str:
    return re.sub(r"\b1\d{12}\b", "T", text)


def same(mine: Kept, other: Kept) -> None:
    assert [level for level, _ in mine.said] == [level for level, _ in other.said]
    for (level, text), (_, expected) in zip(mine.said, other.said, strict=True):
        if level == "WARNING":  # each library words its warnings differently
            assert text.startswith("\n")
            assert ":::MLLOG" not in text
        else:
            assert without_times(text) == without_times(expected)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.builds(np.float32, st.floats(width=32)),
    st.builds(np.float64, st.floats()),
    st.builds(np.int64, st.integers(-(2**63), 2**63 - 1)),
    st.builds(np.bool_, st.booleans()),
    st.builds(np.str_, st.text(max_size=5)),
    st.lists(st.floats(width=16), max_size=3).map(np.array),
    st.dates(),
    st.sampled_from([object, Path("/x"), range(3), np.arange(4).reshape(2, 2), np.array(3)]),
)
names = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.floats())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(names, inner, max_size=3),
    ),
    max_leaves=6,
)
members = st.one_of(
    st.none(),
    values,
    st.dictionaries(st.sampled_from(["file", "lineno", "epoch_num", "a", "é"]), values, max_size=4),
    st.dictionaries(st.text(max_size=3), values, max_size=3).map(collections.OrderedDict),
)
calls = st.fixed_dictionaries(
    {"key": st.one_of(st.text(), st.sampled_from([*keys.ALL]), scalars)},
    optional={
        "value": values,
        "metadata": members,
        "namespace": scalars,
        "time_ms": scalars,
        "stack_offset": st.sampled_from([None, 1, 2, 3]),
        "clear_line": st.sampled_from([None, True, False]),
    },
)
defaults = st.fixed_dictionaries(
    {},
    optional={
        "default_namespace": st.text(max_size=5),
        "default_stack_offset": st.sampled_from([1, 2]),
        "default_clear_line": st.booleans(),
        "root_dir": st.sampled_from([None, "", "/", "/nowhere", str(Path(__file__).parent)]),
    },
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["start", "end", "event"]), calls, defaults)
def test_any_call_writes_the_lines_of_the_official_library(
    method: str, call: dict[str, Any], given_: dict[str, Any]
) -> None:
    mine, other, my_lines, their_lines = pair(**given_)
    for logger in (mine, other):
        try:
            getattr(logger, method)(**call)
        except ValueError:  # the official library raises on an array
            assert logger is other
            assert isinstance(call["metadata"], np.ndarray)
            return
    same(my_lines, their_lines)


def test_positional_arguments_match_the_official_library() -> None:
    mine, other, my_lines, their_lines = pair()
    for logger in (mine, other):
        logger.event("k", 1, {"a": 2}, "n", 5, 1, True)
    same(my_lines, their_lines)


@pytest.fixture
def default_logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger(constants.DEFAULT_LOGGER_NAME)
    handlers = logger.handlers[:]
    logger.handlers.clear()
    yield logger
    logger.handlers[:] = handlers


def test_the_default_logger_prints_to_stdout(
    default_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    MLLogger().event("seed", 5, time_ms=7)
    assert capsys.readouterr().out == (
        ':::MLLOG {"namespace": "", "time_ms": 7, "event_type": "POINT_IN_TIME", "key": "seed", '
        f'"value": 5, "metadata": {{"file": "{__file__}", "lineno": {_line("seed", 5)}}}}}\n'
    )
    assert (default_logger.level, default_logger.propagate) == (logging.INFO, False)


def _line(*words: object) -> int:
    wanted = f'MLLogger().event("{words[0]}", {words[1]}'
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(wanted))


def test_a_second_logger_does_not_print_twice(
    default_logger: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    MLLogger()
    MLLogger().event("seed", 5)
    assert capsys.readouterr().out.count(":::MLLOG") == 1


def test_a_logger_created_with_redirected_stdout_prints_there(
    default_logger: logging.Logger,
) -> None:
    MLLogger()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        MLLogger().event("seed", 5)
    assert printed.getvalue().count(":::MLLOG") == 1


@pytest.fixture
def shared() -> Iterator[MLLogger]:
    """The shared logger, restored after the test."""
    logger = mllog.get_mllogger()
    before, handlers = dict(vars(logger)), logger.logger.handlers[:]
    yield logger
    vars(logger).update(before)
    logger.logger.handlers[:] = handlers


def test_config_changes_the_shared_logger(shared: MLLogger, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    mllog.config(
        default_namespace="worker1", default_clear_line=True, root_dir=str(Path(__file__).parent)
    )
    mllog.config(filename=str(path), default_stack_offset=None, unknown=5)
    shared.end("run_stop", metadata={"status": "success"})
    text = path.read_text()
    assert text.startswith('\n:::MLLOG {"namespace": "worker1"')
    assert '"file": "test_mllog.py"' in text
    assert mllog.get_mllogger() is shared


@pytest.mark.parametrize(
    "wrong",
    [
        {"default_namespace": 5},
        {"default_stack_offset": 1.5},
        {"default_clear_line": 1},
        {"root_dir": b""},
        {"logger": "name"},
        {"filename": Path("x")},
        {"logger": logging.getLogger(constants.DEFAULT_LOGGER_NAME)},
    ],
)
def test_config_refuses_invalid_values_and_changes_nothing(
    shared: MLLogger, wrong: dict[str, Any]
) -> None:
    before = dict(vars(shared))
    with pytest.raises(ValueError, match=next(iter(wrong))):
        mllog.config(**wrong)
    assert vars(shared) == before


def test_a_logger_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(ValueError, match="logger"):
        MLLogger("name")  # type: ignore[arg-type]


def test_scripts_can_patch_the_same_names_as_in_the_official_library() -> None:
    mine, _, kept, _ = pair()
    with mock.patch("time.time", return_value=88.1239):
        mine.event("k")
    with mock.patch.object(ours, "_current_time_ms", return_value=77):
        mine.event("k")
    with mock.patch.object(ours, "get_caller", return_value={"file": "f", "lineno": 3}):
        mine.event("k")
    with mock.patch.object(mine.logger, "log") as log:
        mine.event("k")
    with mock.patch.object(mine, "_log_helper") as helper:
        mine.start("k")
    times = [record.time_ms for record in parse_log(_joined(kept)).records]
    assert times[:2] == [88123, 77]
    assert '"metadata": {"file": "f", "lineno": 3}' in kept.said[2][1]
    assert log.call_args[0][0] == logging.INFO
    assert helper.call_args[0] == ("INTERVAL_START", "k", None)
    assert len(kept.said) == 3


def _joined(kept: Kept) -> bytes:
    return "".join(f"{text}\n" for _, text in kept.said).encode()


def test_a_value_that_cannot_be_represented_does_not_raise() -> None:
    deep: list[Any] = []
    for _ in range(200_000):
        deep = [deep]
    mine, _, kept, _ = pair()
    mine.event("k", deep)
    assert [level for level, _ in kept.said] == ["ERROR"]


def test_lines_that_a_full_disk_refused_are_written_later(tmp_path: Path) -> None:
    logger = logging.Logger("full", logging.INFO)
    handler = AppendingHandler(str(tmp_path / "a.log"))
    logger.addHandler(handler)
    mine = MLLogger(logger)
    with (
        mock.patch("os.write", side_effect=OSError(28, "No space left on device")),
        contextlib.redirect_stderr(io.StringIO()) as stderr,
    ):
        mine.event("first")
        mine.event("second")
    mine.event("third")
    handler.close()
    text = (tmp_path / "a.log").read_text()
    assert re.findall(r'"key": "(\w+)"', text) == ["first", "second", "third"]
    assert stderr.getvalue().count("No space left") >= 1


def test_importing_mllog_does_not_import_large_modules() -> None:
    code = (
        "import sys; from podium import mllog; "
        "print(sorted(m for m in ('numpy', 'torch', 'pydantic', 'msgspec', 'podium.rules')"
        " if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"
