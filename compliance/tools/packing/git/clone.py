"""A clone of the review repository: the only module that runs git (by gitpython).

Nothing is forced: no branch is overwritten, no other submitter's folder touched, nothing pushed
unless asked. Nor is any program run that the clone names.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.isolation import (
    LISTING,
    environment,
    overrides,
    refuse_old,
)

if TYPE_CHECKING:
    from git import Repo

NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")
"""What keeps a diff from starting programs that attributes name."""

PUSHES = 3
"""How often a push is tried while others push to the same branch."""

# In these messages git has left out a password, but not a token in the place of the name
_CREDENTIALS = re.compile(r"://[^/\s@]+@")


def branch_name(submitter: str, round_name: str) -> str:
    """SUBMITTER-ROUND, as git allows names."""
    name = re.sub(r"[^A-Za-z0-9._+-]+|\.\.+|@\{", "-", submitter).strip(".-/") or "submission"
    return f"{name.removesuffix('.lock')}-{round_name}"


@dataclass(frozen=True, slots=True)
class Change:
    """A path that a branch changes; `how` is git's letter: A, M, D, T."""

    how: str
    path: str


class Clone:
    """A work tree of the review repository; raises UsageFault with git's own words.

    `above` lets a folder in it stand for it; else the clone itself must be named, so that no
    repository that happens to lie around another folder is committed to.
    """

    def __init__(self, path: Path, *, above: bool = False) -> None:
        self.repo = _open(path, above=above)
        self.root = Path(str(self.repo.working_tree_dir)).resolve()
        # Names may have glob characters; nobody is there to answer a prompt or an editor; and
        # failures are recognised by git's English messages
        self.repo.git.update_environment(
            GIT_LITERAL_PATHSPECS="1",
            GIT_TERMINAL_PROMPT="0",
            GIT_EDITOR="true",
            GIT_SEQUENCE_EDITOR="true",
            LC_ALL="C",
        )
        refuse_old(self.run("version"))
        pairs = overrides(self.run(*LISTING))
        self.repo.git.update_environment(**environment(pairs, os.environ))
        self.run("rev-parse", "--is-inside-work-tree")

    def run(self, *words: str, env: dict[str, str] | None = None) -> str:
        """What a git command prints; raises UsageFault with the line that names the error."""
        from git.exc import GitCommandError

        try:
            return str(self.repo.git.execute(["git", *words], env=env))
        except GitCommandError as error:
            raise UsageFault(f"git {words[0]} failed: {_reason(error.stderr)}") from None

    def succeeds(self, *words: str) -> bool:
        """Whether a git command succeeds."""
        try:
            self.run(*words)
        except UsageFault:
            return False
        return True

    @property
    def workshop(self) -> Path:
        """Where trees are made: in git's own folder, which git never looks into for files."""
        inner = Path(str(self.repo.git_dir))
        # A swap is atomic within one file system only, and .git may lie on another
        return inner if os.stat(inner).st_dev == os.stat(self.root).st_dev else self.root

    # --- the state of the clone ---

    def refuse_unready(self) -> None:
        """Refuse a clone in the middle of something, or without a name to commit by."""
        inner = Path(str(self.repo.git_dir))
        for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD"):
            if (inner / name).exists():
                what = name.split("-")[0].split("_")[0].lower()
                raise UsageFault(f"{self.root} is in the middle of a {what}; finish it first")
        if not self.succeeds("var", "GIT_COMMITTER_IDENT"):
            raise UsageFault("git does not know who commits; set user.name and user.email")
        if not self.succeeds("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise UsageFault(f"{self.root} has no commit yet; clone the review repository first")

    def changed(self) -> list[str]:
        """Paths with changes that are not committed, new files too."""
        # With -z no name is quoted; a rename would have two parts. To look into a submodule git
        # would start another git in it, by that one's configuration
        how = ("-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
        text = self.run("status", "--porcelain=v1", *how)
        return [part[3:] for part in text.split("\0") if part]

    def dirty(self, folder: str, branch: str) -> bool:
        """Whether the folder has changes; refuses those elsewhere, and on another branch."""
        changed = self.changed()
        own = [path for path in changed if path.startswith(f"{folder}/")]
        if len(own) < len(changed) or (own and self.head() != branch):
            self.refuse_changed()
        return bool(own)

    def refuse_changed(self) -> None:
        """Refuse if anything is not committed."""
        changed = self.changed()
        if changed:
            raise UsageFault(
                f"{self.root} has changes that are not committed ({len(changed)}, such as "
                f"{clean(changed[0])}); commit or stash them first"
            )

    def head(self) -> str:
        """The branch that is checked out, or the commit where there is none."""
        if self.succeeds("symbolic-ref", "--quiet", "HEAD"):
            return _no_option(self.run("symbolic-ref", "--quiet", "--short", "HEAD"))
        return self.commit_id()

    # --- branches ---

    def remote(self) -> str:
        """The name of the remote: origin, or the only one there is; empty for none."""
        names = [_no_option(name) for name in self.run("remote").splitlines()]
        return "origin" if "origin" in names else names[0] if len(names) == 1 else ""

    def fetch(self) -> None:
        """Fetch from the remote."""
        self.run("fetch", "--quiet", "--prune", self._remote())

    def _remote(self) -> str:
        remote = self.remote()
        if not remote:
            raise UsageFault(f"{self.root} has no remote to push to; add one named origin")
        return remote

    def start(self, branch: str) -> bool:
        """Check the branch out, made if need be; whether it is new.

        A new one starts at the remote's branch of that name, else at the remote's main branch, else
        at the clone's HEAD.
        """
        remote, own = self.remote(), f"refs/heads/{branch}"
        theirs = f"refs/remotes/{remote}/{branch}"
        if self._has(own):
            self.run("checkout", "--quiet", branch)
            # Forward only: where both sides have commits, the push brings them together
            if self._has(theirs) and self.is_ancestor(own, theirs):
                self.run("merge", "--quiet", "--ff-only", theirs)
            return False
        refs = (theirs, f"refs/remotes/{remote}/HEAD", "HEAD")
        begin = next(ref for ref in refs if ref == "HEAD" or self._has(ref))
        # Without --no-track git takes the remote's main branch for the upstream of this one
        self.run("checkout", "--quiet", "--no-track", "-b", branch, begin)
        return True

    def leave(self, branch: str, before: str, *, drop: bool) -> None:
        """Check out what was checked out before; `drop` removes a branch without a commit."""
        if self.head() != before:
            self.run("checkout", "--quiet", before)
        if drop and before != branch:
            # -d refuses an unmerged branch; this one was made by the call and has no commit
            self.run("branch", "--quiet", "-D", branch)

    def _has(self, ref: str) -> bool:
        return self.succeeds("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit lies in the history of another."""
        return self.succeeds("merge-base", "--is-ancestor", older, newer)

    # --- committing ---

    def verify_bytes(self, work: Path, folder: str) -> None:
        """Let git read a tree into an index of its own, and see that no byte would change.

        Line ends, filters and keywords that .gitattributes asks for would alter logs.
        """
        # An index of its own: what the user has staged stays as it is
        env = {"GIT_INDEX_FILE": str(work / "index"), "GIT_WORK_TREE": str(work)}
        env["GIT_DIR"] = str(self.repo.git_dir)
        # The stage has no .gitattributes of the clone: git then takes those of the index
        self.run("read-tree", "HEAD", env=env)
        # -f, as .gitignore must not keep logs out
        self.run("add", "-A", "-f", "--", folder, env=env)
        listing = self.run("ls-files", "-s", "-z", "--", folder, env=env)
        for blob, path in _listed(listing):
            if _blob_id(work / path, len(blob)) != blob:
                raise UsageFault(
                    f"git would alter {clean(path)}: .gitattributes asks for it (text, eol, ident, "
                    f"filter); take {folder} out of it"
                )

    def commit(self, folder: str, message: str) -> bool:
        """Commit the folder alone; whether there was anything to commit."""
        self.run("add", "-A", "-f", "--", folder)
        if self.succeeds("diff", *NO_PROGRAMS, "--cached", "--quiet", "HEAD", "--", folder):
            return False
        # Verbatim, as the user's commit.cleanup could strip lines; the folder alone, as other
        # staged files are not part of the submission
        self.run("commit", "--quiet", "--cleanup=verbatim", "-m", message, "--", folder)
        return True

    # --- pushing ---

    def commit_id(self) -> str:
        """The commit that is checked out."""
        return self.run("rev-parse", "--verify", "HEAD")

    def reset(self, commit: str) -> None:
        """Put the branch back to one of its own commits, after a rebase that is not wanted."""
        self.run("reset", "--quiet", "--hard", commit)

    def bring_up(self, branch: str) -> bool:
        """Put the branch's own commits on top of the remote's; whether that had moved."""
        theirs = f"refs/remotes/{self._remote()}/{branch}"
        if not self._has(theirs) or self.is_ancestor(theirs, "HEAD"):
            return False
        if not self.succeeds("rebase", "--quiet", theirs):
            self.succeeds("rebase", "--abort")
            raise UsageFault(
                f"{branch} has moved on the remote, and both sides changed the same files; nothing "
                f"was pushed: fetch, merge the two with --merge, and pack again"
            )
        return True

    def push(self, branch: str) -> bool:
        """Push the branch; False where the remote has moved meanwhile."""
        ref = f"refs/heads/{branch}"
        try:
            self.run("push", "--quiet", "--set-upstream", self._remote(), f"{ref}:{ref}")
        except UsageFault as fault:
            # Somebody has pushed meanwhile: that is tried again, and never forced
            if re.search(r"non-fast-forward|fetch first|rejected|cannot lock ref", str(fault)):
                return False
            raise
        return True

    # --- what a branch changes ---

    def changes(self, ref: str) -> list[Change]:
        """What HEAD changes since it left a ref; raises UsageFault for no such ref."""
        if not self._has(ref):
            raise UsageFault(f"--since {ref}: the clone has no such branch, tag or commit")
        # Three dots: since the common ancestor, without what others have done on the other side
        how = (*NO_PROGRAMS, "--name-status", "--no-renames", "-z")
        text = self.run("diff", *how, f"{ref}...HEAD")
        parts = [part for part in text.split("\0") if part]
        return [Change(how[:1], path) for how, path in zip(parts[::2], parts[1::2], strict=True)]

    def large_blobs(self, ref: str, limit: int) -> Iterator[tuple[str, int]]:
        """(path, bytes) of files over a limit in any commit since a ref, deleted or not."""
        # git leaves out what has at least this size; a file of the limit itself is allowed
        larger = (f"--filter=blob:limit={limit + 1}", "--filter-print-omitted")
        listed = self.run("rev-list", "--objects", *larger, f"{ref}..HEAD").splitlines()
        large = {line[1:] for line in listed if line.startswith("~")}
        if not large:
            return
        every = self.run("rev-list", "--objects", f"{ref}..HEAD").splitlines()
        for oid, _, path in (line.partition(" ") for line in every):
            if oid in large:
                yield path, int(self.run("cat-file", "-s", oid))


def _open(path: Path, *, above: bool) -> Repo:
    try:
        from git import Repo
        from git.exc import InvalidGitRepositoryError, NoSuchPathError
    # GitPython raises it when imported where there is no git
    except ImportError:
        raise UsageFault("there is no git program on this machine; install git") from None
    try:
        repo = Repo(path, search_parent_directories=above, expand_vars=False)
    except NoSuchPathError:
        raise UsageFault(
            f"{path} does not exist; must be a clone of the review repository"
        ) from None
    except (InvalidGitRepositoryError, ValueError):
        raise UsageFault(f"{path} is not a clone; must be one of the review repository") from None
    if repo.bare or repo.working_tree_dir is None:
        raise UsageFault(f"{path} is a bare repository; must be a clone with a work tree")
    return repo


def _no_option(name: str) -> str:
    """A name from the clone; raises UsageFault for one that git would take for an option."""
    if name.startswith("-"):
        raise UsageFault(f"the clone has a branch or a remote named {clean(name)}; rename it")
    return name


def _reason(text: object) -> str:
    """The lines of git's output that name the error, on one line."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    found = [line for line in lines if re.search(r"error|fatal|rejected|denied", line)] or lines
    reason = "; ".join(line.removeprefix("stderr: ").strip("'\" ") for line in found[:3])
    return clean(_CREDENTIALS.sub("://", reason)) or "it gave no reason"


def _listed(listing: str) -> Iterator[tuple[str, str]]:
    for line in listing.split("\0"):
        head, tab, path = line.partition("\t")
        if tab:
            yield head.split(" ")[1], path


def _blob_id(path: Path, digits: int) -> str:
    """The name that git gives to a file's bytes (a link's target) as they are."""
    # A link's blob is the text of its target
    data_size = len(os.fsencode(os.readlink(path))) if path.is_symlink() else path.stat().st_size
    digest = hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)
    digest.update(f"blob {data_size}\0".encode())
    if path.is_symlink():
        digest.update(os.fsencode(os.readlink(path)))
        return digest.hexdigest()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
