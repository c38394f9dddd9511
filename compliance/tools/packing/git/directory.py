"""The git folder of a clone: its location, its owner, and files on which git would hang."""

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
"""The largest file that contains only a path, in bytes."""

_UNREAD = frozenset({"hooks", "modules", "lfs", "annex"})
"""Subfolders of the git folder that podium's git commands never open."""

NO_REPOSITORY = {"GIT_DIR": os.devnull, "LC_ALL": "C"}
"""Environment of a git command that reads no repository."""


@dataclass(frozen=True, slots=True)
class GitDirectory:
    """The folders of a clone: `own` has HEAD and the index, work trees share `common`."""

    root: Path
    own: Path
    common: Path


def find_directory(path: Path, *, above: bool) -> GitDirectory:
    """The clone at a path, or around it if `above`; raises UsageFault if none can be read."""
    if not path.exists():
        raise UsageFault(f"{path} does not exist; expected a clone of the review repository")
    start = path.resolve()
    candidates = [start, *start.parents] if above else [start]
    root = next(
        (candidate for candidate in candidates if os.path.lexists(candidate / ".git")), None
    )
    if root is None:
        if is_git_folder(start):
            raise UsageFault(f"{path} is a bare repository; expected a clone with a work tree")
        raise UsageFault(f"{path} is not a clone; expected a clone of the review repository")
    directory = _resolved(root)
    for folder in {directory.own, directory.common}:
        refuse_odd_files(folder)
    if not (is_git_folder(directory.common) and os.path.lexists(directory.own / "HEAD")):
        raise UsageFault(f"{root} is not a clone; expected a clone of the review repository")
    _refuse_foreign(directory)
    return directory


def is_git_folder(folder: Path) -> bool:
    """Whether git would accept a folder as a git folder."""
    return os.path.lexists(folder / "HEAD") and all(
        (folder / name).is_dir() for name in ("objects", "refs")
    )


def _resolved(root: Path) -> GitDirectory:
    inner = root / ".git"
    mode = os.lstat(inner).st_mode
    if stat.S_ISDIR(mode):
        return GitDirectory(root, inner, inner)
    if not stat.S_ISREG(mode):
        raise UsageFault(f"{inner} is {_kind(mode)}; expected a folder")
    own_folder = _named_by(inner, "gitdir: ", root)
    # A linked work tree and its repository name each other. Any other file could point to an
    # unrelated repository
    if (own_folder / "commondir").is_file() and _named_by(
        own_folder / "gitdir", "", own_folder
    ) == inner:
        common = _named_by(own_folder / "commondir", "", own_folder)
        if own_folder.parent == common / "worktrees":
            return GitDirectory(root, own_folder, common)
    raise UsageFault(f"{inner} points to another repository; use a clone or a linked work tree")


def _named_by(file: Path, prefix: str, base: Path) -> Path:
    """The folder that a file names."""
    content = read_small(file, _POINTER_BYTES).removesuffix(b"\n")
    start = prefix.encode()
    if not content.startswith(start) or b"\0" in content:
        raise UsageFault(f"{file} does not name a folder")
    target = os.fsdecode(content.removeprefix(start))
    # The last name is not resolved: it may be `.git`, whose kind is checked
    path = Path(os.path.abspath(base / target))
    return path.parent.resolve() / path.name


def read_small(file: Path, limit: int) -> bytes:
    """The content of a regular file; raises UsageFault for another kind or a larger file."""
    try:
        # O_NONBLOCK: opening a pipe must not block before its kind is known
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UsageFault(f"{clean(str(file))} is not a regular file")
            content = stream.read(limit + 1)
    except OSError as error:
        raise UsageFault(f"{clean(str(file))} cannot be read: {error.strerror}") from None
    if len(content) > limit:
        raise UsageFault(f"{clean(str(file))} is larger than {limit} bytes")
    return content


# --- the kinds of files ---


def refuse_odd_files(folder: Path) -> None:
    """Raise UsageFault for a file on which git could hang, or a link that points outside."""
    for entry in _entries(folder, top=True):
        mode = entry.stat(follow_symlinks=False).st_mode
        # Opening a socket fails at once, so git cannot hang on it
        is_special = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISSOCK(mode))
        if is_special and not (stat.S_ISLNK(mode) and _leads_inside(entry.path, folder)):
            raise UsageFault(f"{clean(entry.path)} is {_kind(mode)}; git is not run on it")


def refuse_odd_names(root: Path) -> None:
    """Raise UsageFault for a pipe or a device in a work tree that git would open as settings."""
    for entry in _entries(root, top=False):
        if entry.name.startswith(".git") and not entry.is_symlink():
            mode = entry.stat(follow_symlinks=False).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UsageFault(f"{clean(entry.path)} is {_kind(mode)}; git is not run on it")


def _entries(folder: Path, *, top: bool) -> Iterator[os.DirEntry[str]]:
    """The entries below a folder, except those that git does not open."""
    waiting = [(str(folder), top)]
    while waiting:
        parent, first = waiting.pop()
        try:
            with os.scandir(parent) as iterator:
                entries = list(iterator)
        except OSError as error:
            raise UsageFault(f"{clean(parent)} cannot be read: {error.strerror}") from None
        for entry in entries:
            if first and (entry.name in _UNREAD or entry.name.startswith(PREFIX)):
                continue
            if not top and entry.name == ".git" and parent == str(folder):
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
        # HEAD may link to a branch without a commit
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _kind(mode: int) -> str:
    kinds = {
        stat.S_IFLNK: "a link that points outside",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "not a regular file")


# --- the owner ---


def _refuse_foreign(directory: GitDirectory) -> None:
    """Refuse a clone of another user, as git does, unless the user's safe.directory names it."""
    users = {os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if users == {0} and sudo.isdecimal():
        users.add(int(sudo))
    folders = (directory.root, directory.own, directory.common)
    if all(os.stat(folder).st_uid in users for folder in folders):
        return
    result = run_git(
        ("config", "-z", "--get-all", "safe.directory"),
        folder=directory.root,
        variables=NO_REPOSITORY,
        seconds=READING_SECONDS,
    )
    safe: list[str] = []
    for value in result.output.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        # An empty value clears the list
        safe = [*safe, value] if value else []
    if not any(_covers(value, directory.root) for value in safe):
        raise UsageFault(
            f"dubious ownership of {directory.root}: it belongs to another user; to trust it, run "
            f"`git config --global --add safe.directory {directory.root}`"
        )


def _covers(value: str, root: Path) -> bool:
    if value == "*":
        return True
    above = value.endswith("/*")
    trusted = Path(os.path.expanduser(value.removesuffix("/*"))).resolve()
    return root == trusted or (above and trusted in root.parents)
