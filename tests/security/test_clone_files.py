"""The files of a hostile clone cannot make git hang, use unlimited memory or leave the clone."""

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
def test_a_pipe_or_link_in_place_of_a_git_file_is_refused(
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
def test_a_pipe_or_link_in_place_of_the_git_folder_is_refused(
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
    # With `check`, git does not open the file
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
def test_a_clone_with_an_unusual_layout_or_configuration_is_refused(
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


def test_an_invalid_ref_name_is_reported_in_one_line(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    for ref in ("HEAD\nx", "--output=x", "", "HEAD:Beta", "HEAD..HEAD", "\x1b[31m"):
        assert run(["pack", f"--since={ref}", "--git", str(clone)]) == Exit.USAGE
        assert run(["check", str(clone / "Beta"), f"--since={ref}"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert err.count("\n") == 12
    assert err.count("no such branch, tag or commit") == 12
    assert "\x1b" not in err


# --- clones that are accepted ---


def test_a_linked_work_tree_is_accepted(review: Review) -> None:
    clone, linked = review.clone(), review.place / "linked"
    git(clone, "worktree", "add", "-q", str(linked))
    assert review.pack(linked) == Exit.CLEAN
    assert git(linked, "branch", "--show-current") == BRANCH
    assert git(linked, "status", "--porcelain") == ""
    assert git(clone, "branch", "--show-current") == "main"
    assert run(["check", str(linked / "Acme"), "--since", "main", "--round", "5.1"]) == Exit.CLEAN


def test_a_branch_checked_out_in_another_work_tree_is_refused(
    review: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = review.clone()
    git(clone, "worktree", "add", "-q", "-b", BRANCH, str(review.place / "linked"))
    assert review.pack(clone) == Exit.USAGE
    # The message differs between versions of git
    assert re.search(r"is already (checked out|used by worktree) at", capsys.readouterr().err)


def test_shallow_and_sparse_clones_are_accepted(review: Review) -> None:
    shallow = review.place / "shallow"
    git(review.place, "clone", "-q", "--depth=1", f"file://{review.bare}", str(shallow))
    assert review.pack(shallow, "--push") == Exit.CLEAN
    sparse = review.clone("sparse")
    git(sparse, "sparse-checkout", "set", "Acme")
    assert not (sparse / "Beta").exists()
    assert review.pack(sparse) == Exit.CLEAN
    assert not (sparse / "Beta").exists()
    assert git(sparse, "status", "--porcelain") == ""


def test_a_clone_with_shared_objects_is_accepted(review: Review) -> None:
    git(review.place, "clone", "-q", "--shared", str(review.bare), "shared")
    assert review.pack(review.place / "shared", "--push") == Exit.CLEAN


def test_a_clone_with_sha256_objects_is_accepted(tmp_path: Path, config: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", "clone")
    clone = tmp_path / "clone"
    (clone / "result_0.txt").write_text("x\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "begin")
    assert run(["check", str(clone), "--since", "HEAD"]) == Exit.CLEAN
    (clone / "result_0.txt").write_text("y\n")
    assert run(["check", str(clone), "--since", "HEAD"]) == Exit.FOUND


# --- limits of a git process ---


def alias(command: str, *, folder: Path, seconds: float = 60.0) -> Finished:
    """Run a command as a child of git."""
    words = ("-c", f"alias.x=!{command}", "x")
    return run_git(words, folder=folder, variables=NO_REPOSITORY, seconds=seconds)


def test_a_git_process_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="did not end within 0 seconds"):
        alias("exec sleep 100", folder=tmp_path, seconds=0.2)


def test_a_git_process_with_endless_output_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_process, "OUTPUT_BYTES", 1 << 20)
    with pytest.raises(UsageFault, match="printed over 1 MiB"):
        alias("yes", folder=tmp_path)


def test_long_error_output_is_truncated_and_git_continues(tmp_path: Path) -> None:
    done = alias("yes | head -c 3000000 >&2; echo done", folder=tmp_path)
    assert (done.status, done.output) == (0, b"done\n")
    assert len(done.errors) < 200_000


def test_a_git_process_has_a_memory_limit(tmp_path: Path) -> None:
    assert alias("ulimit -d", folder=tmp_path).output == b"%d\n" % (git_process.MEMORY_BYTES >> 10)
