"""A hostile clone cannot hide a changed log from `--since`."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from podium.compliance.cli.entry import run
from podium.compliance.exit_codes import Exit
from tests.compliance.clones import Review, git

pytestmark = pytest.mark.usefixtures("never_hangs")


OLD = 1_700_000_000
"""A time long before the index was written."""


@dataclass(frozen=True)
class Packed:
    """A clone with an accepted submission in its last commit."""

    root: Path
    base: str
    log: Path

    @property
    def name(self) -> str:
        """Path of the log in git."""
        return self.log.relative_to(self.root).as_posix()

    def git(self, *words: str) -> str:
        return git(self.root, *words)

    def spoil(self) -> None:
        """Change the log so that the check rejects it. Its size and time stay the same."""
        text = self.log.read_bytes()
        spoiled = text.replace(b'"closed"', b'"clos3d"', 1)
        assert spoiled != text
        self.log.write_bytes(spoiled)
        os.utime(self.log, (OLD, OLD))

    def commit(self) -> None:
        """Commit the log as it is."""
        self.log.touch()
        self.git("commit", "-q", "-a", "-m", "another log")

    def since(self) -> int:
        return run(["check", str(self.root / "Acme"), "--round", "5.1", "--since", self.base])


@pytest.fixture
def packed(review: Review) -> Packed:
    seed = review.place / "seed"
    git(seed, "rm", "-q", ".gitattributes")
    git(seed, "commit", "-q", "-m", "without attributes")
    git(seed, "push", "-q", "origin", "HEAD:main")
    root = review.clone()
    assert review.pack(root) == Exit.CLEAN
    log = min((root / "Acme").rglob("result_0.txt"))
    # git compares the content of files that may have changed since the index was written
    os.utime(log, (OLD, OLD))
    git(root, "update-index", "--refresh")
    return Packed(root, git(root, "rev-parse", "HEAD"), log)


def _assume_unchanged(packed: Packed) -> None:
    packed.git("update-index", "--assume-unchanged", packed.name)
    packed.spoil()


def _skip_worktree(packed: Packed) -> None:
    packed.git("update-index", "--skip-worktree", packed.name)
    packed.spoil()


def _skip_what_is_gone(packed: Packed) -> None:
    packed.git("update-index", "--skip-worktree", packed.name)
    packed.log.unlink()


def _a_replacement(packed: Packed) -> None:
    packed.spoil()
    packed.commit()
    packed.git("replace", packed.base, packed.git("rev-parse", "HEAD"))


def _a_loose_stat(packed: Packed) -> None:
    packed.git("config", "core.trustctime", "false")
    packed.git("config", "core.checkStat", "minimal")
    packed.spoil()


def _a_forged_index(packed: Packed) -> None:
    packed.spoil()
    index = packed.root / ".git/index"
    content, found = bytearray(index.read_bytes()), packed.log.stat()
    place = content.index(packed.name.encode() + b"\0") - 62
    times = (found.st_ctime_ns, found.st_mtime_ns)
    seconds = [part for time in times for part in divmod(time, 10**9)]
    rest = [found.st_dev, found.st_ino, found.st_mode, found.st_uid, found.st_gid, found.st_size]
    struct.pack_into(">10I", content, place, *(each & 0xFFFFFFFF for each in [*seconds, *rest]))
    content[-20:] = hashlib.sha1(content[:-20], usedforsecurity=False).digest()
    index.write_bytes(content)


def _a_keyword(packed: Packed) -> None:
    """Git ignores the text between `$Id:` and `$` in a comparison."""
    attributes = packed.root / ".git/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("*.txt ident\n")
    packed.log.write_bytes(packed.log.read_bytes() + b"# $Id$\n")
    packed.commit()
    object.__setattr__(packed, "base", packed.git("rev-parse", "HEAD"))
    evil = b':::MLLOG {"key": "opt_name", "value": "sgd"}'
    packed.log.write_bytes(packed.log.read_bytes().replace(b"$Id$", b"$Id: " + evil + b" $"))


def _a_filter(packed: Packed) -> None:
    attributes = packed.root / ".git/info/attributes"
    attributes.parent.mkdir(exist_ok=True)
    attributes.write_text("*.txt filter=odd\n")
    packed.git("config", "filter.odd.clean", "sed s/clos3d/closed/")
    packed.spoil()


def _another_commit_of_the_name(packed: Packed) -> None:
    """Store the spoiled commit under the name of the good commit."""
    packed.spoil()
    packed.commit()
    _forge(packed, packed.base, "HEAD")


def _another_folder_of_the_name(packed: Packed) -> None:
    folder = packed.log.parent.relative_to(packed.root).as_posix()
    good = packed.git("rev-parse", f"HEAD:{folder}")
    packed.spoil()
    packed.commit()
    _forge(packed, good, f"HEAD:{folder}")


def _forge(packed: Packed, oid: str, other: str) -> None:
    found = packed.git("rev-parse", other)
    content = (packed.root / ".git/objects" / found[:2] / found[2:]).read_bytes()
    assert zlib.decompress(content)
    place = packed.root / ".git/objects" / oid[:2] / oid[2:]
    place.chmod(0o600)
    place.write_bytes(content)


HIDDEN = (
    *(_assume_unchanged, _skip_worktree, _skip_what_is_gone, _a_replacement, _a_loose_stat),
    *(_a_forged_index, _a_keyword, _a_filter),
)
Hide = Callable[[Packed], None]


@pytest.mark.parametrize("hide", HIDDEN)
def test_a_log_that_a_clone_hides_is_judged(hide: Hide, packed: Packed) -> None:
    assert packed.since() == Exit.CLEAN
    hide(packed)
    assert packed.since() == Exit.FOUND


@pytest.mark.parametrize("hide", [_a_forged_index, _a_loose_stat, _assume_unchanged, _a_filter])
def test_git_itself_does_not_see_the_change(hide: Hide, packed: Packed) -> None:
    """This proves that the test above uses changes that are hidden from git."""
    hide(packed)
    assert packed.git("status", "--porcelain") == ""


@pytest.mark.parametrize("hide", [_another_commit_of_the_name, _another_folder_of_the_name])
def test_an_object_stored_under_another_name_is_refused(
    hide: Hide, packed: Packed, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(packed)
    assert packed.git("diff", packed.base, "--name-only") == ""
    assert packed.since() == Exit.USAGE
    # git verifies the hash of the object that REF names, but not the hash of a folder
    err = capsys.readouterr().err
    assert "in the clone is damaged" in err or "no such branch" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("hide", [each for each in HIDDEN if each != _a_replacement])
def test_pack_since_refuses_a_work_tree_that_differs_from_the_commit(
    hide: Hide, packed: Packed
) -> None:
    """`pack --since` judges the work tree, so it must be the same as the branch."""
    options = ["pack", "--since", "origin/main", "--git", str(packed.root)]
    assert run(options) == Exit.CLEAN
    hide(packed)
    assert run(options) == Exit.USAGE


def test_pack_since_refuses_an_ignored_file(packed: Packed) -> None:
    """The file would be judged, but reviewers would not receive it."""
    (packed.root / ".git/info").mkdir(exist_ok=True)
    (packed.root / ".git/info/exclude").write_text("result_*.txt\n")
    (packed.log.parent / "result_9.txt").write_text("one more\n")
    assert run(["pack", "--since", "origin/main", "--git", str(packed.root)]) == Exit.USAGE


def test_a_commit_that_differs_from_the_work_tree_is_not_pushed(
    review: Review, packed: Packed, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit has the spoiled log, the work tree the good log, and git sees no change."""
    good = packed.log.read_bytes()
    packed.spoil()
    packed.commit()
    packed.log.write_bytes(good)
    packed.git("update-index", "--assume-unchanged", packed.name)
    assert packed.git("status", "--porcelain") == ""
    assert review.pack(packed.root, "--push") == Exit.USAGE
    assert "differs from the commit" in capsys.readouterr().err
    assert git(review.bare, "branch", "--list", "Acme-5.1") == ""
