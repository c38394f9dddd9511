"""The files of a hostile clone: none makes git wait, take memory without bounds, or lead out."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit
from podium.compliance.files import git_process
from podium.compliance.files.git_process import Finished, run_git
from podium.compliance.tools.packing.git.directory import NO_REPOSITORY
from tests.compliance.clones import BRANCH, Review, git

LIMIT_S = 120
pytestmark = pytest.mark.usefixtures("never_hangs")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def leading_out(path: Path) -> None:
    path.symlink_to("/etc")


READ_BY_GIT = (
    *(".git/HEAD", ".git/index", ".git/packed-refs", ".git/refs/heads/main", ".git/config"),
    *(".git/config.worktree", ".git/info/exclude", ".git/info/attributes", ".git/shallow"),
    *(".git/logs/HEAD", ".git/objects/pack/a.idx", ".git/objects/info/alternates"),
    *(".git/objects/info/commit-graph", ".git/refs/replace", ".git/MERGE_HEAD", ".git/commondir"),
)


@pytest.mark.parametrize("name", READ_BY_GIT)
@pytest.mark.parametrize("make", [pipe, endless, leading_out])
def test_a_file_that_is_none_is_refused(
    make: Callable[[Path], None], name: str, review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    path = clone / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    make(path)
    assert review.pack(clone) == Exit.USAGE
    assert run(["check", str(clone / "Beta"), "--since", "HEAD"]) == Exit.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(f"{name} is " in line for line in lines)


@pytest.mark.parametrize("make", [pipe, endless, leading_out])
def test_a_git_folder_that_is_none_is_refused(
    make: Callable[[Path], None], review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    shutil.rmtree(clone / ".git")
    make(clone / ".git")
    assert review.pack(clone) == Exit.USAGE
    assert run(["check", str(clone / "Beta"), "--since", "HEAD"]) == Exit.USAGE
    assert capsys.readouterr().err.count("; expected a folder") == 2


@pytest.mark.parametrize("name", [".gitignore", "Beta/.gitignore", ".gitattributes", ".gitmodules"])
def test_a_pipe_in_the_work_tree_that_git_would_open_is_refused(
    name: str, review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    (clone / name).unlink(missing_ok=True)
    os.mkfifo(clone / name)
    assert review.pack(clone) == Exit.USAGE
    assert f"{name} is a pipe" in capsys.readouterr().err
    # Here no git opens it
    assert run(["check", str(clone / "Beta"), "--since", "HEAD"]) in (Exit.FOUND, Exit.CLEAN)


def _to_another_repository(review: Review, clone: Path) -> None:
    other = review.clone("other")
    shutil.rmtree(clone / ".git")
    (clone / ".git").write_text(f"gitdir: {other / '.git'}\n")


def _long(review: Review, clone: Path) -> None:
    shutil.rmtree(clone / ".git")
    (clone / ".git").write_text("gitdir: " + "x" * 5_000_000)


def _large_configuration(review: Review, clone: Path) -> None:
    with (clone / ".git/config").open("a") as stream:
        stream.write("[a]\n" + "\tx = y\n" * 200_000)


def _damaged_configuration(review: Review, clone: Path) -> None:
    with (clone / ".git/config").open("ab") as stream:
        stream.write(b"\0\1\2[core")


def _another_format(review: Review, clone: Path) -> None:
    git(clone, "config", "core.repositoryFormatVersion", "99")


def _an_extension(review: Review, clone: Path) -> None:
    git(clone, "config", "core.repositoryFormatVersion", "1")
    with (clone / ".git/config").open("a") as stream:
        stream.write("[extensions]\n\tevil = true\n")


def _alternates(review: Review, clone: Path) -> None:
    place = review.place / "objects"
    (place / "pack").mkdir(parents=True)
    os.mkfifo(place / "pack/a.idx")
    (clone / ".git/objects/info/alternates").write_text(f"{place}\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_to_another_repository, "points to another repository"),
        (_long, "is larger than 4096 bytes"),
        (_large_configuration, "is larger than 1048576 bytes"),
        (_damaged_configuration, "bad config line"),
        (_another_format, "has format version 99"),
        (_an_extension, "extensions.evil=true"),
        (_alternates, "a.idx is a pipe"),
    ],
)
def test_a_clone_that_is_not_plain_is_refused(
    spoil: Callable[[Review, Path], None],
    said: str,
    review: Review,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clone = review.clone()
    spoil(review, clone)
    assert review.pack(clone) == Exit.USAGE
    assert run(["check", str(clone / "Beta"), "--since", "HEAD"]) == Exit.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(said in line for line in lines)


def test_a_name_of_a_ref_is_one_line(review: Review, capsys: pytest.CaptureFixture[str]) -> None:
    clone = review.clone()
    for ref in ("HEAD\nx", "--output=x", "", "HEAD:Beta", "HEAD..HEAD", "\x1b[31m"):
        assert run(["pack", f"--since={ref}", "--git", str(clone)]) == Exit.USAGE
        assert run(["check", str(clone / "Beta"), f"--since={ref}"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert err.count("\n") == 12
    assert err.count("no such branch, tag or commit") == 12
    assert "\x1b" not in err


# --- what is usual ---


def test_a_linked_work_tree_is_a_clone(review: Review) -> None:
    clone, linked = review.clone(), review.place / "linked"
    git(clone, "worktree", "add", "-q", str(linked))
    assert review.pack(linked) == Exit.CLEAN
    assert git(linked, "branch", "--show-current") == BRANCH
    assert git(linked, "status", "--porcelain") == ""
    assert git(clone, "branch", "--show-current") == "main"
    assert run(["check", str(linked / "Acme"), "--since", "main", "--round", "5.1"]) == Exit.CLEAN


def test_a_branch_that_another_work_tree_has_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    git(clone, "worktree", "add", "-q", "-b", BRANCH, str(review.place / "linked"))
    assert review.pack(clone) == Exit.USAGE
    # The words of older and of newer versions of git
    assert re.search(r"is already (checked out|used by worktree) at", capsys.readouterr().err)


def test_clones_that_lack_a_part_are_clones(review: Review) -> None:
    shallow = review.place / "shallow"
    git(review.place, "clone", "-q", "--depth=1", f"file://{review.bare}", str(shallow))
    assert review.pack(shallow, "--push") == Exit.CLEAN
    sparse = review.clone("sparse")
    git(sparse, "sparse-checkout", "set", "Acme")
    assert not (sparse / "Beta").exists()
    assert review.pack(sparse) == Exit.CLEAN
    assert not (sparse / "Beta").exists()
    assert git(sparse, "status", "--porcelain") == ""


def test_a_store_of_objects_may_be_shared(review: Review) -> None:
    git(review.place, "clone", "-q", "--shared", str(review.bare), "shared")
    assert review.pack(review.place / "shared", "--push") == Exit.CLEAN


def test_objects_by_another_hash_are_read(tmp_path: Path, config: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", "clone")
    clone = tmp_path / "clone"
    (clone / "result_0.txt").write_text("x\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "begin")
    assert run(["check", str(clone), "--since", "HEAD"]) == Exit.CLEAN
    (clone / "result_0.txt").write_text("y\n")
    assert run(["check", str(clone), "--since", "HEAD"]) == Exit.FOUND


# --- bounds of a git process ---


def alias(command: str, *, folder: Path, seconds: float = 60.0) -> Finished:
    """Run a command as a child of git."""
    words = ("-c", f"alias.x=!{command}", "x")
    return run_git(words, folder=folder, variables=NO_REPOSITORY, seconds=seconds)


def test_a_git_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="did not end within 0 seconds"):
        alias("exec sleep 100", folder=tmp_path, seconds=0.2)


def test_a_git_that_prints_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_process, "OUTPUT_BYTES", 1 << 20)
    with pytest.raises(UsageFault, match="printed over 1 MiB"):
        alias("yes", folder=tmp_path)


def test_errors_without_end_do_not_stop_git(tmp_path: Path) -> None:
    done = alias("yes | head -c 3000000 >&2; echo done", folder=tmp_path)
    assert (done.status, done.output) == (0, b"done\n")
    assert len(done.errors) < 200_000


def test_git_has_a_bound_of_memory(tmp_path: Path) -> None:
    assert alias("ulimit -d", folder=tmp_path).output == b"%d\n" % (git_process.MEMORY_BYTES >> 10)
