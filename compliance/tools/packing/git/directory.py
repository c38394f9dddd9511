"""The git folder of a clone: where it is, whose it is, and that git can read it without a hang."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.files.git_process import READING_SECONDS, run_git
from podium.compliance.files.staging import PREFIX
from podium.compliance.text.terminal import clean

_POINTER_BYTES = 4096
"""The largest file that only names a folder."""

_UNREAD = frozenset({"hooks", "modules", "lfs", "annex"})
"""Folders of a git folder that no git started here opens."""

NO_REPOSITORY = {"GIT_DIR": os.devnull, "LC_ALL": "C"}
"""Variables of a git that reads no repository."""


@dataclass(frozen=True, slots=True)
class GitDirectory:
    """The folders of a clone; `own` has HEAD and the index, `common` what work trees share."""

    root: Path
    own: Path
    common: Path


def find_directory(path: Path, *, above: bool) -> GitDirectory:
    """The clone at a path, or that holds it; raises UsageFault for none, or one not to be read."""
    if not path.exists():
        raise UsageFault(f"{path} does not exist; must be a clone of the review repository")
    start = path.resolve()
    places = [start, *start.parents] if above else [start]
    root = next((place for place in places if os.path.lexists(place / ".git")), None)
    if root is None:
        if is_git_folder(start):
            raise UsageFault(f"{path} is a bare repository; must be a clone with a work tree")
        raise UsageFault(f"{path} is not a clone; must be one of the review repository")
    found = _resolved(root)
    for folder in {found.own, found.common}:
        refuse_odd_files(folder)
    if not (is_git_folder(found.common) and os.path.lexists(found.own / "HEAD")):
        raise UsageFault(f"{root} is not a clone; must be one of the review repository")
    _refuse_foreign(found)
    return found


def is_git_folder(folder: Path) -> bool:
    """Whether a folder has what git looks for in its own."""
    return os.path.lexists(folder / "HEAD") and all(
        (folder / name).is_dir() for name in ("objects", "refs")
    )


def _resolved(root: Path) -> GitDirectory:
    inner = root / ".git"
    mode = os.lstat(inner).st_mode
    if stat.S_ISDIR(mode):
        return GitDirectory(root, inner, inner)
    if not stat.S_ISREG(mode):
        raise UsageFault(f"{inner} must be a folder; {_kind(mode)} is not followed")
    own = _named_by(inner, "gitdir: ", root)
    # A linked work tree and its repository name each other. Any other file could lead to a
    # repository that has nothing to do with this folder
    if (own / "commondir").is_file() and _named_by(own / "gitdir", "", own) == inner:
        common = _named_by(own / "commondir", "", own)
        if own.parent == common / "worktrees":
            return GitDirectory(root, own, common)
    raise UsageFault(f"{inner} leads to another repository; use a clone or a linked work tree")


def _named_by(file: Path, prefix: str, base: Path) -> Path:
    """The folder that a file names."""
    content = read_small(file, _POINTER_BYTES).removesuffix(b"\n")
    start = prefix.encode()
    if not content.startswith(start) or b"\0" in content:
        raise UsageFault(f"{file} does not name a folder")
    named = os.fsdecode(content.removeprefix(start))
    # Not resolved to the end: the last name may be `.git`, whose kind is looked at
    path = Path(os.path.abspath(base / named))
    return path.parent.resolve() / path.name


def read_small(file: Path, limit: int) -> bytes:
    """What a regular file holds; raises UsageFault for another kind, or one over the limit."""
    try:
        # O_NONBLOCK: a pipe must not wait for a writer before its kind is known
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UsageFault(f"{clean(str(file))} is not a regular file")
            content = stream.read(limit + 1)
    except OSError as error:
        raise UsageFault(f"{clean(str(file))} cannot be read: {error.strerror}") from None
    if len(content) > limit:
        raise UsageFault(f"{clean(str(file))} has more than {limit} bytes")
    return content


# --- the kinds of files ---


def refuse_odd_files(folder: Path) -> None:
    """Raise UsageFault for a file that git could wait for without end, or that leads elsewhere."""
    for entry in _entries(folder, top=True):
        mode = entry.stat(follow_symlinks=False).st_mode
        # Nobody can wait for a socket: to open one is an error
        odd = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode))
        if odd and not (stat.S_ISLNK(mode) and _leads_inside(entry.path, folder)):
            raise UsageFault(f"{clean(entry.path)} is {_kind(mode)}; git is not run on it")


def refuse_odd_names(root: Path) -> None:
    """Raise UsageFault for a pipe or a device in a work tree that git would open for settings."""
    for entry in _entries(root, top=False):
        if entry.name.startswith(".git") and not entry.is_symlink():
            mode = entry.stat(follow_symlinks=False).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UsageFault(f"{clean(entry.path)} is {_kind(mode)}; git is not run on it")


def _entries(folder: Path, *, top: bool) -> Iterator[os.DirEntry[str]]:
    """The names below a folder, but for those that git does not open."""
    waiting = [(str(folder), top)]
    while waiting:
        place, first = waiting.pop()
        try:
            with os.scandir(place) as found:
                entries = list(found)
        except OSError as error:
            raise UsageFault(f"{clean(place)} cannot be read: {error.strerror}") from None
        for entry in entries:
            if first and (entry.name in _UNREAD or entry.name.startswith(PREFIX)):
                continue
            if not top and entry.name == ".git" and place == str(folder):
                continue
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, False))


def _leads_inside(link: str, folder: Path) -> bool:
    target = Path(os.path.realpath(link))
    if folder.resolve() not in target.parents:
        return False
    try:
        mode = os.lstat(target).st_mode
    except OSError:
        # HEAD may be a link to a branch without a commit
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a link that leads out",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "not a regular file")


# --- the owner ---


def _refuse_foreign(found: GitDirectory) -> None:
    """Refuse a clone of another user, as git does, unless the user's safe.directory names it."""
    users = {os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if users == {0} and sudo.isdecimal():
        users.add(int(sudo))
    folders = (found.root, found.own, found.common)
    if all(os.stat(folder).st_uid in users for folder in folders):
        return
    done = run_git(
        ("config", "-z", "--get-all", "safe.directory"),
        folder=found.root,
        variables=NO_REPOSITORY,
        seconds=READING_SECONDS,
    )
    safe: list[str] = []
    for value in done.output.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        # An empty value ends the list of those before
        safe = [*safe, value] if value else []
    if not any(_covers(value, found.root) for value in safe):
        raise UsageFault(
            f"dubious ownership of {found.root}: it is another user's; "
            f"`git config --global --add safe.directory {found.root}` allows it"
        )


def _covers(value: str, root: Path) -> bool:
    if value == "*":
        return True
    above = value.endswith("/*")
    named = Path(os.path.expanduser(value.removesuffix("/*"))).resolve()
    return root == named or (above and named in root.parents)
