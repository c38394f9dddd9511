"""`benchmarks/hostile.py` detects errors, hangs, ended processes and high memory use."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.locations import ROOT

linux = pytest.mark.skipif(sys.platform != "linux", reason="it forks, and looks into /proc")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("hostile", ROOT / "benchmarks/hostile.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hostile", module)
    spec.loader.exec_module(module)
    return module


def misbehaving(hostile: Any, hangs: bool) -> Any:
    def read_one(calls: object, seed: int, number: int) -> Any:
        if number == 3 and hangs:
            time.sleep(600)
        if number == 5:
            os._exit(1)
        # A forked process starts with the memory that earlier tests have allocated
        before = hostile.peak()
        large = bytearray(300 << 20) if number == 7 else b""
        seconds, megabytes = (6.0 if number == 9 else 0.1), hostile.peak() - before
        del large
        faults = ["exit status 3"] if number == 11 else []
        return hostile.Read(number, "log", 3 if faults else 1, seconds, megabytes, faults)

    return read_one


@linux
@pytest.mark.parametrize("hangs", [False, pytest.param(True, marks=pytest.mark.long)])
def test_an_error_in_one_input_is_counted_and_does_not_stop_the_others(
    hangs: bool, hostile: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # On a busy machine an input can need seconds; only a hang may exceed this limit
    monkeypatch.setattr(hostile, "PATIENCE", 15.0)
    monkeypatch.setattr(hostile, "MEGABYTES", 200)
    monkeypatch.setattr(hostile, "CHUNK", 8)
    monkeypatch.setattr(hostile, "read_one", misbehaving(hostile, hangs))
    monkeypatch.setattr(hostile, "Calls", lambda _: None)
    tally = hostile.run(16, 1, 2, tmp_path, time.monotonic() + 600)
    assert sorted(tally.faults) == [
        "11 (log): exit status 3",
        *(["3: took more than 15 s"] if hangs else []),
        "5: ended the process",
    ]
    assert tally.ends == {("log", 1): 14 - hangs, ("log", 3): 1}
    assert (tally.slow, tally.large) == (1 + hangs, 1)
    assert tally.largest.number == 7
    assert tally.slowest.number == 9
    assert os.listdir(tmp_path) == []


@linux
def test_no_input_is_started_after_the_deadline(
    hostile: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tally = hostile.run(16, 1, 2, tmp_path, time.monotonic() - 1)
    assert not tally.ends
