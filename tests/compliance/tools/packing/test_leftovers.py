"""Leftovers of killed calls: the next call reports them, and `--clean` removes nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.files.staging import MARKER, PREFIX, leftovers, staging
from podium.compliance.tools.bundling.bundle import bundle
from podium.compliance.tools.packing.planning.request import read_request
from podium.compliance.tools.packing.writing.pack import PackJob, pack
from tests.compliance.clones import Review, alone
from tests.compliance.command_line import podium
from tests.compliance.packs import Loose, files_in
from tests.compliance.tools.review.rounds import submission


def killed(work: Callable[[], object], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `work` in a forked process that kills itself when it calls `os.<name>`."""
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        try:
            work()
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def left(folder: Path) -> list[Path]:
    return [*folder.glob(f"{PREFIX}*")]


@pytest.fixture
def loose(tmp_path: Path) -> Loose:
    return Loose(tmp_path)


def pack_until_killed(loose: Loose) -> None:
    def notify(step: str) -> None:
        if step == "before the swap":
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            pack(PackJob(read_request(loose.work, {}), replace=(".",), notify=notify))
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_the_next_call_reports_the_leftovers_of_a_killed_pack(loose: Loose) -> None:
    pack_until_killed(loose)
    (folder,) = left(loose.packed.parent)
    said = podium("pack", loose.work, "--dry-run").stderr
    assert said.count("\n") == 1
    assert str(folder) in said
    assert "iB, " in said
    assert "seconds old); `podium pack --clean` removes it" in said
    assert folder.is_dir()
    done = podium("pack", loose.work)
    assert done.exit_code == 0
    assert "it is removed now" in done.stderr
    assert podium("pack", loose.work, "--dry-run").stderr == ""
    assert os.listdir(loose.packed.parent) == ["Acme"]


def test_clean_removes_only_leftovers(loose: Loose) -> None:
    pack_until_killed(loose)
    place = loose.packed.parent
    (ours,) = left(place)
    others = {
        "another tree's": f"{PREFIX}Other.aaaaaaaa",
        "without a marker": f"{PREFIX}Acme.bbbbbbbb",
        "another tree's, empty": f"{PREFIX}Other.bbbbbbbb",
        "another name": ".podium-stage.Acme",
        "a common folder": "Acme.cccccccc",
        "a link": f"{PREFIX}Acme.dddddddd",
    }
    shutil.copytree(ours, place / others["another name"])
    shutil.copytree(ours, place / others["a common folder"])
    (place / others["a link"]).symlink_to(others["a common folder"])
    (place / others["without a marker"]).mkdir()
    (place / others["without a marker"] / "notes.txt").touch()
    (place / others["another tree's, empty"]).mkdir()
    unmarked = place / f"{PREFIX}Acme.eeeeeeee"
    unmarked.mkdir()  # killed a minute ago, before it wrote its marker
    os.utime(unmarked, (time.time() - 60, time.time() - 60))
    (place / others["another tree's"]).mkdir()
    (place / others["another tree's"] / MARKER).write_text(str(place / "Other"))
    done = podium("pack", loose.work, "--clean")
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"{ours}" in done.stderr
    assert "removed" in done.stderr
    assert sorted(os.listdir(place)) == sorted(others.values())
    again = podium("pack", loose.work, "--clean")
    assert (again.exit_code, again.output) == (0, "")


def test_clean_restores_an_old_tree_that_was_set_aside(loose: Loose) -> None:
    pack(PackJob(read_request(loose.work, {})))
    old = files_in(loose.packed)
    pack_until_killed_with_changes(loose)
    (stage,) = left(loose.packed.parent)
    os.rename(loose.packed, stage / "old")
    assert podium("pack", loose.work, "--clean").exit_code == 0
    assert files_in(loose.packed) == old
    assert os.listdir(loose.packed.parent) == ["Acme"]


def pack_until_killed_with_changes(loose: Loose) -> None:
    loose.put("docs/README.md", "another\nbash run_and_time.sh\n")
    pack_until_killed(loose)


def test_a_folder_in_use_is_not_reported(tmp_path: Path) -> None:
    with staging(tmp_path / "Acme") as folder:
        assert folder.is_dir()
        assert leftovers(tmp_path / "Acme") == []
    assert os.listdir(tmp_path) == []


def test_a_folder_whose_marker_names_another_path_is_not_reported(loose: Loose) -> None:
    pack_until_killed(loose)
    moved = loose.place / "moved"
    os.rename(loose.packed.parent, moved)
    assert leftovers(moved / "Acme") == []


def test_clean_without_a_packed_tree_creates_no_folder(loose: Loose) -> None:
    done = podium("pack", loose.work, "--clean")
    assert (done.exit_code, done.output) == (0, "")
    assert not loose.packed.parent.exists()


COMMANDS = (
    *("bundle", "unpack", "init", "system init", "fix"),
    *("review", "results build", "results site"),
)


@pytest.mark.parametrize("what", COMMANDS)
def test_other_commands_remove_their_own_leftovers(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = submission(tmp_path).root.parent
    bundle(tree, tmp_path / "there.tar")
    calls: dict[str, tuple[object, ...]] = {
        "bundle": ("bundle", tree, tmp_path / "a.tar"),
        "unpack": ("unpack", tmp_path / "there.tar", "--output", tmp_path / "out"),
        "init": ("init", tmp_path / "new", "--submitter", "Acme", "--round", "5.1"),
        "system init": ("system", "init", tmp_path / "n.json", "--no-probe", "--round", "5.1"),
        "fix": ("fix", tree, "--write"),
        "review": ("review", tree, "--no-curves", "--output", tmp_path / "review"),
        "results build": ("results", "build", tree, "--output", tmp_path / "store", "--quiet"),
        "results site": (
            *("results", "site", tmp_path / "store", "--output", tmp_path / "site"),
            *("--no-charts", "--quiet"),
        ),
    }
    if what == "fix":
        system = tree / "Acme/systems/ex_n8.json"
        system.write_text(system.read_text().replace('"closed"', '"Closed"'))
    if what == "results site":
        assert podium(*calls["results build"]).exit_code == 0
    with monkeypatch.context() as patched:
        killed(lambda: podium(*calls[what]), "replace", patched)
    (folder,) = tmp_path.rglob(f"{PREFIX}*")
    done = podium(*calls[what])
    assert done.exit_code in (0, 1), done.output
    assert done.stderr.count("\n") == 1
    assert str(folder) in done.stderr
    assert "; removed" in done.stderr
    assert [*tmp_path.rglob(f"{PREFIX}*")] == []


@pytest.mark.parametrize("what", ["another host", "an earlier podium", "not a draft"])
def test_a_folder_that_may_be_in_use_is_reported_and_kept(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    archive = tmp_path / "a.tar"
    with monkeypatch.context() as patched:
        killed(lambda: bundle(tree, archive), "replace", patched)
    (folder,) = left(tmp_path)
    path, host, purpose = (folder / MARKER).read_bytes().split(b"\0")
    assert purpose == b"draft"
    fields = {
        "another host": (path, host + b"2", purpose),
        "an earlier podium": (path,),
        "not a draft": (path, host, b""),
    }
    (folder / MARKER).write_bytes(b"\0".join(fields[what]))
    for _ in range(2):
        done = podium("bundle", tree, archive, "--replace")
        assert done.exit_code == 0, done.output
        assert done.stderr.count("\n") == 1
        assert str(folder) in done.stderr
        assert "if no other call uses it, remove it" in done.stderr
        assert folder.is_dir()


def test_unpack_does_not_remove_a_tree_that_pack_set_aside(loose: Loose) -> None:
    """The staging folder of a killed pack may have the only copy of a tree."""
    pack(PackJob(read_request(loose.work, {})))
    bundle(loose.packed, loose.place / "a.tar")
    pack_until_killed_with_changes(loose)
    (stage,) = left(loose.packed.parent)
    os.rename(loose.packed, stage / "old")
    done = podium("unpack", loose.place / "a.tar", "--output", loose.packed)
    assert done.exit_code == 0, done.output
    assert f"{stage}" in done.stderr
    assert (stage / "old").is_dir()


@pytest.mark.parametrize("name", ["n" * 250, "\udcff" * 3, "a.b c'd\n", "é" * 120])
def test_a_file_with_any_valid_name_can_be_staged(name: str, tmp_path: Path) -> None:
    with staging(tmp_path / name) as folder:
        (folder / "new").write_text("text")
        os.replace(folder / "new", tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("call", [["--clean"], ["--dry-run"], []])
@pytest.mark.parametrize("owner", ["another host", "no locks"])
def test_pack_keeps_a_folder_whose_owner_may_be_running(
    owner: str, call: list[str], loose: Loose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner may have the only copy of the old tree there, and may be about to swap it in."""
    pack_until_killed(loose)
    (folder,) = left(loose.packed.parent)
    if owner == "no locks":
        monkeypatch.setattr("podium.compliance.files.staging._lock", lambda _: None)
    else:
        path, host, purpose = (folder / MARKER).read_bytes().split(b"\0")
        (folder / MARKER).write_bytes(b"\0".join((path, host + b"2", purpose)))
    for _ in range(2):
        done = podium("pack", loose.work, *call)
        assert done.exit_code == 0, done.output
        assert done.stderr.count("\n") == 1
        assert str(folder) in done.stderr
        assert "if no other call uses it, remove it" in done.stderr
        assert folder.is_dir()


def test_temporary_leftovers_of_a_killed_since_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    alone(tmp_path, monkeypatch)
    clone = Review.made(tmp_path).clone()
    call = ("check", clone, "--round", "5.1", "--since", "HEAD")
    with monkeypatch.context() as patched:
        killed(lambda: podium(*call), "symlink", patched)
    assert len(left(place)) == 1
    podium(*call)
    assert left(place) == []
