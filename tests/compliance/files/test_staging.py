"""Folders in which files are made: what a kill leaves of them, and how they go."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.files.atomic import draft_file, draft_folder
from podium.compliance.files.staging import PREFIX, discard, leftovers

Draft = Callable[[Path], AbstractContextManager[Any]]


def left_by_a_kill(draft: Draft, path: Path) -> list[str]:
    """The names beside a path after a process was killed that made something for it."""
    child = os.fork()
    if not child:
        with draft(path):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return sorted(os.listdir(path.parent))


@pytest.mark.parametrize("draft", [draft_file, draft_folder])
def test_what_a_kill_leaves_is_known_by_the_file_it_was_for(draft: Draft, tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    (left,) = left_by_a_kill(draft, path)
    assert left.startswith(PREFIX)
    assert [each.folder for each in leftovers(path)] == [tmp_path / left]
    assert leftovers(tmp_path / "Acme.tar.gz") == []


def test_a_kill_before_the_marker_leaves_an_empty_folder_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    left = tmp_path / f"{PREFIX}Acme.tar.71vlefa8"
    left.mkdir()
    assert [each.folder for each in leftovers(path)] == [left]
    assert leftovers(tmp_path / "Acme.tar.gz") == leftovers(tmp_path / "Acme") == []
    (left / "mine").touch()
    assert leftovers(path) == []


def test_what_another_call_is_making_is_no_leftover(tmp_path: Path) -> None:
    path = tmp_path / "Acme.tar"
    with draft_file(path):
        assert len(os.listdir(tmp_path)) == 1
        assert leftovers(path) == []


def test_a_folder_is_removed_where_the_disk_fails_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "stage"
    (folder / "new").mkdir(parents=True)
    real, calls = shutil.rmtree, []

    def failing(*args: Any, **options: Any) -> None:
        calls.append(args)
        if len(calls) == 1:
            raise OSError("Python's rmtree lets errors of fstat through")
        real(*args, **options)

    monkeypatch.setattr(shutil, "rmtree", failing)
    discard(folder)
    assert not folder.exists()
