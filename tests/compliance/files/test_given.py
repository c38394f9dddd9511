"""Pipes and devices in place of files: one line of output, and no read waits forever."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from podium.compliance.files import given
from podium.compliance.files.given import read_given
from podium.compliance.tools.bundling.bundle import bundle
from tests.compliance.command_line import podium

LIMIT_S = 120
pytestmark = [
    pytest.mark.usefixtures("never_hangs"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes"),
]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_file_is_read_to_its_end_or_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert read_given(tmp_path / "a", 4_000_000) == b"x" * 3_000_000
    assert read_given(tmp_path / "a", 2_000_001) == b"x" * 2_000_001
    assert read_given("/dev/zero", 5) == bytes(5)
    assert read_given("/dev/null", 5) == b""


def test_a_pipe_is_read(pipe: Path) -> None:
    writer = Thread(target=lambda: pipe.write_bytes(b"x" * 300_000))
    writer.start()
    assert read_given(pipe, 1 << 20) == b"x" * 300_000
    writer.join()


CALLS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "a passphrase": lambda pipe, at: (
        *("unpack", at / "a.tar", "-o", at / "out"),
        *("--passphrase-file", pipe),
    ),
    "an identity": lambda pipe, at: ("unpack", at / "a.tar", "-o", at / "out", "--identity", pipe),
    "a receipt": lambda pipe, at: ("unpack", at / "a.tar", "-o", at / "out", "--verify", pipe),
    "a probe": lambda pipe, at: (
        *("system", "init", at / "s.json", "--round", "5.1"),
        *("--node", pipe),
    ),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_pipe_without_a_writer_is_reported_in_one_line(
    what: str, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "PATIENCE_SECONDS", 0.2)
    (tmp_path / "tree").mkdir()
    bundle(tmp_path / "tree", tmp_path / "a.tar")
    done = podium(*CALLS[what](pipe, tmp_path))
    assert done.exit_code == 2
    assert done.output == f"podium: {pipe} cannot be read: it did not end within 0 s\n"


def test_a_pipe_in_place_of_a_store_index_is_reported_in_one_line(
    pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given, "PATIENCE_SECONDS", 0.2)
    pytest.importorskip("duckdb")
    store = tmp_path / "store"
    store.mkdir()
    pipe.rename(store / "store.json")
    done = podium("results", "query", "--store", store, "select 1")
    assert done.exit_code == 2
    said = f"podium: {store}/store.json cannot be read: it is not a regular file\n"
    assert done.output == said
