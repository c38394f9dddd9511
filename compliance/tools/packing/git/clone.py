"""A clone of the review repository: its state, its branches, its commits.

Nothing is forced: podium overwrites no branch, touches no folder of another submitter, and pushes
only on request. It runs no program that the clone names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.compare import blob_id, differing
from podium.compliance.tools.packing.git.directory import find_directory, refuse_odd_names
from podium.compliance.tools.packing.git.isolated import IsolatedGit
from podium.compliance.tools.packing.git.objects import Objects
from podium.compliance.tools.packing.git.remote import Remote, local_path

NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")
"""Options that keep a diff from starting programs that attributes name."""

PUSHES = 3
"""Number of attempts to push while others push to the same branch."""


def branch_name(submitter: str, round_name: str) -> str:
    """SUBMITTER-ROUND, as a valid name for git."""
    name = re.sub(r"[^A-Za-z0-9._+-]+|\.\.+|@\{", "-", submitter).strip(".-/") or "submission"
    return f"{name.removesuffix('.lock')}-{round_name}"


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that a branch changes; `how` is git's status letter: A, M, D or T."""

    how: str
    path: str


class Clone:
    """A work tree of the review repository; raises UsageFault with the message of git.

    With `read_only`, the path may be a folder inside the clone. Otherwise it must be the clone
    itself, so that podium never commits to a repository that merely encloses the folder.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.directory = find_directory(path, above=read_only)
        self.root = self.directory.root
        self.git = IsolatedGit(self.directory, read_only=read_only)
        # Raises for an unsupported clone before anything is written
        _ = self.git.settings
        self.objects = Objects(self.git.ask)

    def run(self, *words: str, env: Mapping[str, str] | None = None, text: bytes = b"") -> str:
        """The output of a git command; raises UsageFault with the line that states the error."""
        output = self.git.ask(words, text, variables=env)
        return output.decode("utf-8", "surrogateescape").removesuffix("\n")

    def succeeds(self, *words: str) -> bool:
        """Whether a git command succeeds."""
        return self.git.run(words).status == 0

    @property
    def inner(self) -> Path:
        """The folder that has HEAD and the index."""
        return self.directory.own

    @property
    def workshop(self) -> Path:
        """The folder in which trees are made: the git folder, in which git looks for no files."""
        inner = self.inner
        # A swap is atomic within one file system only, and .git may be on another
        return inner if os.stat(inner).st_dev == os.stat(self.root).st_dev else self.root

    # --- the state of the clone ---

    def refuse_unready(self) -> None:
        """Refuse a clone with an unfinished operation, an unknown committer, or no commit."""
        for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD"):
            if (self.inner / name).exists():
                operation = name.split("-")[0].split("_")[0].lower()
                raise UsageFault(f"{self.root} is in the middle of a {operation}; finish it first")
        if not self.succeeds("var", "GIT_COMMITTER_IDENT"):
            raise UsageFault("git does not know the committer; set user.name and user.email")
        if not self.succeeds("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise UsageFault(f"{self.root} has no commit yet; clone the review repository first")

    def changed(self) -> list[str]:
        """Paths with uncommitted changes, including new files."""
        refuse_odd_names(self.root)
        # With -z no name is quoted; a rename would have two parts. To look into a submodule, git
        # would start another git with the configuration of the submodule
        options = ("-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
        text = self.run("status", "--porcelain=v1", *options)
        return [part[3:] for part in text.split("\0") if part]

    def dirty(self, folder: str, branch: str) -> bool:
        """Whether the folder has changes; refuses changes elsewhere or on another branch."""
        changed = self.changed()
        folder_changes = [path for path in changed if path.startswith(f"{folder}/")]
        if len(folder_changes) < len(changed) or (folder_changes and self.head() != branch):
            self.refuse_changed()
        return bool(folder_changes)

    def refuse_changed(self) -> None:
        """Refuse a clone with uncommitted changes."""
        if changed := self.changed():
            raise self._uncommitted(changed)

    def refuse_differing(self, names: Sequence[str]) -> None:
        """Refuse if a file below these top-level names differs from the commit in any byte."""
        if changed := self.differing_from_head(names):
            raise self._uncommitted(changed)

    def _uncommitted(self, changed: Sequence[str]) -> UsageFault:
        return UsageFault(
            f"{self.root} has uncommitted changes ({len(changed)}, such as "
            f"{clean(changed[0])}); commit or stash them first"
        )

    def head(self) -> str:
        """The branch that is checked out, or the commit if HEAD is detached."""
        if self.succeeds("symbolic-ref", "--quiet", "HEAD"):
            return _no_option(self.run("symbolic-ref", "--quiet", "--short", "HEAD"))
        return self.commit_id()

    # --- branches ---

    def remote(self) -> Remote:
        """The remote: origin, or the only remote."""
        remote = self.git.remote
        if remote is None:
            raise UsageFault(f"{self.root} has no remote to push to; add one named origin")
        return remote

    def fetch(self) -> None:
        """Fetch from the remote."""
        remote = self.remote()
        remote.refuse_redirects()
        options = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head")
        self.run("fetch", *options, self._address(), *remote.heads)

    def _address(self, *options: str) -> str:
        """The address for git: the name of the remote, or a replacement of a local repository."""
        remote = self.remote()
        # Raises for an address that is not plain
        remote.address(self.root)
        # The user's url.*.insteadOf may redirect it
        path = local_path(self.run("remote", "get-url", *options, remote.name), self.root)
        return remote.name if path is None else str(self.git.lend_remote(path))

    def start(self, branch: str) -> bool:
        """Check out the branch, after creating it if necessary; whether it is new.

        A new branch starts at the remote's branch of that name, else at the remote's main branch,
        else at the clone's HEAD.
        """
        local_ref, remote = f"refs/heads/{branch}", self.git.remote.name if self.git.remote else ""
        remote_ref = f"refs/remotes/{remote}/{branch}"
        if self.succeeds("symbolic-ref", "--quiet", local_ref):
            raise UsageFault(f"the clone's branch {branch} is a link to another one; delete it")
        if self._has(local_ref):
            self.run("checkout", "--quiet", branch)
            # Fast-forward only: if both sides have commits, the push combines them
            if self._has(remote_ref) and self.is_ancestor(local_ref, remote_ref):
                self.run("merge", "--quiet", "--ff-only", remote_ref)
            return False
        refs = (remote_ref, f"refs/remotes/{remote}/HEAD", "HEAD")
        begin = next(ref for ref in refs if ref == "HEAD" or self._has(ref))
        # Without --no-track, git makes the remote's main branch the upstream of this branch
        self.run("checkout", "--quiet", "--no-track", "-b", branch, begin)
        return True

    def leave(self, branch: str, before: str, *, drop: bool) -> None:
        """Check out the previous branch again; `drop` removes a branch without a commit."""
        if self.head() != before:
            self.run("checkout", "--quiet", before)
        if drop and before != branch:
            # -d refuses an unmerged branch; this call created the branch, which has no commit
            self.run("branch", "--quiet", "-D", branch)

    def _has(self, ref: str) -> bool:
        return self.succeeds("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether one commit is in the history of another."""
        return self.succeeds("merge-base", "--is-ancestor", older, newer)

    # --- committing ---

    def verify_bytes(self, work: Path, folder: str) -> None:
        """Let git read a tree into a temporary index, and refuse it if any byte would change.

        Line endings, filters and keywords that .gitattributes requests would alter logs.
        """
        # Not the clone's index: the staged changes of the user must stay
        env = {"GIT_INDEX_FILE": str(work / "index"), "GIT_WORK_TREE": str(work)}
        # The stage has no .gitattributes of the clone, so git uses those of the index
        self.run("read-tree", "HEAD", env=env)
        # -f, because .gitignore must not keep logs out
        self.run("add", "-A", "-f", "--", folder, env=env)
        listing = self.run("ls-files", "-s", "-z", "--", folder, env=env)
        entries = list(_listed(listing))
        for oid, path in entries:
            if blob_id(work / path, len(oid)) != oid:
                raise _altered(path, "text, eol, ident, working-tree-encoding")
        text = "".join(f"{path}\0" for _, path in entries).encode("utf-8", "surrogateescape")
        output = self.run("check-attr", "-z", "--cached", "--stdin", "filter", env=env, text=text)
        parts = output.split("\0")
        for path, name in zip(parts[::3], parts[2::3], strict=False):
            # Not run here, but the user's next `git add` would change the content
            if name in self.git.user_filters:
                raise _altered(path, f"filter {clean(name)}")

    def commit(self, folder: str, message: str) -> bool:
        """Commit the folder only; whether there was anything to commit."""
        self.run("add", "-A", "-f", "--", folder)
        if self.succeeds("diff", *NO_PROGRAMS, "--cached", "--quiet", "HEAD", "--", folder):
            self.verify_commit(folder)
            return False
        # Verbatim, because the user's commit.cleanup could strip lines; only the folder, because
        # other staged files are not part of the submission
        self.run("commit", "--quiet", "--cleanup=verbatim", "-m", message, "--", folder)
        self.verify_commit(folder)
        return True

    def verify_commit(self, folder: str) -> None:
        """Raise UsageFault if the commit differs from the files of the folder."""
        if paths := self.differing_from_head([folder]):
            raise UsageFault(
                f"{clean(paths[0])} differs from the commit that git created; nothing was "
                "pushed: pack into a new clone"
            )

    def differing_from_head(self, names: Sequence[str]) -> list[str]:
        """Paths below these top-level names that differ from the commit in any byte."""
        tree = self.objects.tree_of(self.commit_id())
        return list(differing(self.root, tree, self.objects, names=frozenset(names)))

    # --- pushing ---

    def commit_id(self) -> str:
        """The commit that is checked out."""
        return self.run("rev-parse", "--verify", "HEAD")

    def reset(self, commit: str) -> None:
        """Reset the branch to an earlier commit, to undo a rebase."""
        self.run("reset", "--quiet", "--hard", commit)

    def bring_up(self, branch: str) -> bool:
        """Rebase the branch onto the remote's; whether the remote had new commits."""
        remote_ref = f"refs/remotes/{self.remote().name}/{branch}"
        if not self._has(remote_ref) or self.is_ancestor(remote_ref, "HEAD"):
            return False
        if not self.succeeds("rebase", "--quiet", remote_ref):
            self.succeeds("rebase", "--abort")
            raise UsageFault(
                f"{branch} has new commits on the remote, and both sides changed the same files; "
                "nothing was pushed: fetch, merge both trees with --merge, and pack again"
            )
        return True

    def push(self, branch: str) -> bool:
        """Push the branch; False if somebody else has pushed in the meantime."""
        ref, remote = f"refs/heads/{branch}", self.remote()
        try:
            self.run("push", "--quiet", self._address("--push"), f"{ref}:{ref}")
        except UsageFault as fault:
            # Somebody else has pushed: the caller tries again, and never forces
            if re.search(r"non-fast-forward|fetch first|rejected|cannot lock ref", str(fault)):
                return False
            raise
        self.run("update-ref", f"refs/remotes/{remote.name}/{branch}", ref)
        # As --set-upstream does, which would write to the replaced configuration
        file = ("config", "--file", str(self.directory.common / "config"), "--replace-all")
        self.succeeds(*file, f"branch.{branch}.remote", remote.name)
        self.succeeds(*file, f"branch.{branch}.merge", ref)
        return True

    # --- what a branch changes ---

    def oid_of(self, ref: str) -> str:
        """The object id of a branch, tag or commit; raises UsageFault if there is none."""
        if not self._has(ref):
            raise UsageFault(f"--since {clean(ref)}: no such branch, tag or commit")
        return self.run("rev-parse", "--verify", "--quiet", ref)

    def changes(self, ref: str) -> list[PathChange]:
        """The changes of HEAD since it branched off a ref; raises UsageFault for an unknown ref."""
        since = f"{self.oid_of(ref)}...HEAD"
        # The history counts only if each commit matches its id
        commits = self.run("rev-list", "--boundary", since).split()
        self.objects.verify([oid.removeprefix("-") for oid in commits])
        # Three dots: since the common ancestor, without the changes of others on the other side
        options = (*NO_PROGRAMS, "--name-status", "--no-renames", "-z")
        parts = [part for part in self.run("diff", *options, since).split("\0") if part]
        return [
            PathChange(status[:1], path)
            for status, path in zip(parts[::2], parts[1::2], strict=True)
        ]

    def large_blobs(self, ref: str, limit: int) -> Iterator[tuple[str, int]]:
        """(path, bytes) of files over a limit in any commit since a ref, even if deleted later."""
        since = f"{self.oid_of(ref)}..HEAD"
        # git omits files of at least this size; a file of exactly the limit is allowed
        larger = (f"--filter=blob:limit={limit + 1}", "--filter-print-omitted")
        lines = self.run("rev-list", "--objects", *larger, since).splitlines()
        large = {line[1:] for line in lines if line.startswith("~")}
        if not large:
            return
        objects = self.run("rev-list", "--objects", since).splitlines()
        for oid, _, path in (line.partition(" ") for line in objects):
            if oid in large:
                yield path, int(self.run("cat-file", "-s", oid))


def _no_option(name: str) -> str:
    """A name from the clone; raises UsageFault for a name that git would parse as an option."""
    if name.startswith("-"):
        raise UsageFault(f"the clone has a branch or a remote named {clean(name)}; rename it")
    return name


def _listed(listing: str) -> Iterator[tuple[str, str]]:
    for line in listing.split("\0"):
        head, tab, path = line.partition("\t")
        if tab:
            yield head.split(" ")[1], path


def _altered(path: str, attributes: str) -> UsageFault:
    return UsageFault(
        f"git would alter {clean(path)} because of .gitattributes ({attributes}); remove these "
        f"attributes from {path.partition('/')[0]}"
    )
