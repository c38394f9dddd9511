"""Staging folders: what a killed process leaves in them, and how they are removed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.files.atomic import draft_file, draft_folder
from podium.compliance.files.staging import MARKER, PREFIX, discard, leftovers, staging

Draft = Callable[[Path], AbstractContextManager[Any]]


def left_by_a_kill(draft: Draft, path: Path) -> list[str]:
    """Kill a process while it creates a file for a path; return the names next to the path."""
    child = os.fork()
    if not child:
        with draft(path):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return sorted(os.listdir(path.parent))


@pytest.mark.parametrize("draft", [draft_file, draft_folder])
def test_a_staging_folder_left_by_a_kill_is_found_by_its_target(
    draft: Draft, tmp_path: Path
) -> None:
    path = tmp_path / "Acme.tar"
    (left,) = left_by_a_kill(draft, path)
    assert left.startswith(PREFIX)
    assert [each.folder for each in leftovers(path)] == [tmp_path / left]
    assert leftovers(tmp_path / "Acme.tar.gz") == []


def long_ago(folder: Path) -> None:
    """Make a folder one minute old: a newer folder without a marker may be in use."""
    past = time.time() - 60
    os.utime(folder, (past, past))


def test_an_empty_staging_folder_without_a_marker_is_a_leftover(tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    left = tmp_path / f"{PREFIX}Acme.tar.71vlefa8"
    left.mkdir()
    long_ago(left)
    assert [each.folder for each in leftovers(path)] == [left]
    assert leftovers(tmp_path / "Acme.tar.gz") == leftovers(tmp_path / "Acme") == []
    (left / "mine").touch()
    assert leftovers(path) == []


def test_a_staging_folder_with_an_empty_marker_is_a_leftover(tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    left = tmp_path / f"{PREFIX}Acme.tar.71vlefa8"
    left.mkdir()
    marker = left / MARKER
    marker.touch()
    long_ago(left)
    assert [each.folder for each in leftovers(path)] == [left]
    assert leftovers(tmp_path / "Acme") == []
    with marker.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert leftovers(path) == []
    (left / "mine").touch()
    assert leftovers(path) == []


def remove_and_die(path: Path, last: int) -> None:
    """Fill a staging folder for `path`, and die at removal number `last` while removing it."""
    with draft_folder(path) as folder:
        for name in "abc":
            (folder / name).mkdir()
            (folder / name / "more").write_text(name)
        (folder.parent / "beside").touch()
        removals = itertools.count()

        def killed(event: str, _: object) -> None:
            if event in ("os.remove", "os.rmdir") and next(removals) == last:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(killed)
        discard(folder.parent)


@pytest.mark.parametrize("last", range(12))
def test_a_kill_during_the_removal_of_a_folder_leaves_a_known_leftover(
    last: int, tmp_path: Path
) -> None:
    """At every removal, in any order in which a file system lists names."""
    path = tmp_path / "Acme.tar"
    child = os.fork()
    if not child:
        try:
            remove_and_die(path, last)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    left = [tmp_path / name for name in os.listdir(tmp_path)]
    for folder in left:
        long_ago(folder)
    assert len(left) == (last < 10)
    assert [each.folder for each in leftovers(path)] == left


@pytest.mark.parametrize("step", [(tempfile, "mkdtemp"), (os, "open")])
def test_a_folder_that_another_call_just_created_is_not_a_leftover(
    step: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process looks for it after each step of creating the folder and its marker."""
    path, real = tmp_path / "Acme.tar", getattr(*step)
    found: list[int] = []

    def look(*args: Any, **options: Any) -> Any:
        done = real(*args, **options)
        if PREFIX not in f"{args} {done}":
            return done
        monkeypatch.undo()
        child = os.fork()
        if not child:
            os._exit(len(leftovers(path)))
        found.append(os.waitpid(child, 0)[1])
        return done

    monkeypatch.setattr(*step, look)
    with staging(path):
        assert found == [0]


def test_a_folder_in_use_is_not_a_leftover(tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    with draft_file(path):
        assert len(os.listdir(tmp_path)) == 1
        assert leftovers(path) == []


def test_a_folder_is_removed_if_the_disk_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stage"
    (folder / "new").mkdir(parents=True)
    real, calls = os.rmdir, []

    def failing(*args: Any, **options: Any) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise OSError(errno.EIO, "Input/output error")
        real(*args, **options)

    monkeypatch.setattr(os, "rmdir", failing)
    discard(folder)
    assert not folder.exists()


def test_a_folder_that_cannot_be_removed_stays_a_leftover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "Acme.tar"
    real = os.unlink

    def failing(name: Any, **options: Any) -> None:
        if str(name).endswith("a"):
            raise OSError(errno.EIO, "Input/output error")
        real(name, **options)

    with monkeypatch.context() as patched, staging(path, draft=True) as folder:
        patched.setattr(os, "unlink", failing)
        for name in "abc":
            (folder / name).write_text("text")
    assert sorted(os.listdir(folder)) == [MARKER, "a"]
    assert [each.folder for each in leftovers(path)] == [folder]


def _fail_without_handles(path: Path, spare: int) -> None:
    """Fail in a folder five levels deep while this process can open only a few more files."""
    with staging(path, draft=True) as folder:
        (folder / "a/b/c/d/e").mkdir(parents=True)
        (folder / "a/b/c/d/e/file").touch()
        held = []
        try:
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            for handle in held[:spare]:
                os.close(handle)
            raise


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_a_folder_is_removed_without_free_file_handles(spare: int, tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        try:
            # Earlier tests may have left more files open than the limit
            os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
            with contextlib.suppress(OSError):
                _fail_without_handles(tmp_path / "Acme.tar", spare)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.listdir(tmp_path) == []


def test_a_folder_is_removed_if_its_marker_cannot_be_opened(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
            with contextlib.suppress(OSError), staging(tmp_path / "Acme.tar"):
                pass
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.listdir(tmp_path) == []
