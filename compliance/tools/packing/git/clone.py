"""A clone of the review repository: its state, its branches, its commits.

Nothing is forced: no branch is overwritten, no other submitter's folder touched, nothing pushed
unless asked. Nor is any program run that the clone names.
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
"""What keeps a diff from starting programs that attributes name."""

PUSHES = 3
"""How often a push is tried while others push to the same branch."""


def branch_name(submitter: str, round_name: str) -> str:
    """SUBMITTER-ROUND, as git allows names."""
    name = re.sub(r"[^A-Za-z0-9._+-]+|\.\.+|@\{", "-", submitter).strip(".-/") or "submission"
    return f"{name.removesuffix('.lock')}-{round_name}"


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that a branch changes; `how` is git's letter: A, M, D, T."""

    how: str
    path: str


class Clone:
    """A work tree of the review repository; raises UsageFault with git's own words.

    `read_only` is for one that is looked at: then a folder in it stands for it. Else the clone
    itself must be named, so that no repository that lies around another folder is committed to.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.directory = find_directory(path, above=read_only)
        self.root = self.directory.root
        self.git = IsolatedGit(self.directory, read_only=read_only)
        # A clone that is refused is refused before anything is written
        _ = self.git.settings
        self.objects = Objects(self.git.ask)

    def run(self, *words: str, env: Mapping[str, str] | None = None, text: bytes = b"") -> str:
        """What a git command prints; raises UsageFault with the line that names the error."""
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
        """Where trees are made: in git's own folder, which git never looks into for files."""
        inner = self.inner
        # A swap is atomic within one file system only, and .git may lie on another
        return inner if os.stat(inner).st_dev == os.stat(self.root).st_dev else self.root

    # --- the state of the clone ---

    def refuse_unready(self) -> None:
        """Refuse a clone in the middle of something, or without a name to commit by."""
        for name in ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD"):
            if (self.inner / name).exists():
                what = name.split("-")[0].split("_")[0].lower()
                raise UsageFault(f"{self.root} is in the middle of a {what}; finish it first")
        if not self.succeeds("var", "GIT_COMMITTER_IDENT"):
            raise UsageFault("git does not know who commits; set user.name and user.email")
        if not self.succeeds("rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise UsageFault(f"{self.root} has no commit yet; clone the review repository first")

    def changed(self) -> list[str]:
        """Paths with changes that are not committed, new files too."""
        refuse_odd_names(self.root)
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
        if changed := self.changed():
            raise self._uncommitted(changed)

    def refuse_differing(self, names: Sequence[str]) -> None:
        """Refuse if a file below names at the top is not, byte by byte, what the commit has."""
        if changed := self.differing_from_head(names):
            raise self._uncommitted(changed)

    def _uncommitted(self, changed: Sequence[str]) -> UsageFault:
        return UsageFault(
            f"{self.root} has changes that are not committed ({len(changed)}, such as "
            f"{clean(changed[0])}); commit or stash them first"
        )

    def head(self) -> str:
        """The branch that is checked out, or the commit where there is none."""
        if self.succeeds("symbolic-ref", "--quiet", "HEAD"):
            return _no_option(self.run("symbolic-ref", "--quiet", "--short", "HEAD"))
        return self.commit_id()

    # --- branches ---

    def remote(self) -> Remote:
        """The remote: origin, or the only one there is."""
        remote = self.git.remote
        if remote is None:
            raise UsageFault(f"{self.root} has no remote to push to; add one named origin")
        return remote

    def fetch(self) -> None:
        """Fetch from the remote."""
        remote = self.remote()
        remote.refuse_redirects()
        how = ("--quiet", "--prune", "--no-tags", "--no-write-fetch-head")
        self.run("fetch", *how, self._address(), *remote.heads)

    def _address(self, *options: str) -> str:
        """What git is to talk to: the remote by its name, or what stands for one on this disk."""
        remote = self.remote()
        # Raises for an address that is not plain
        remote.address(self.root)
        # The user's own url.*.insteadOf may say another one
        path = local_path(self.run("remote", "get-url", *options, remote.name), self.root)
        return remote.name if path is None else str(self.git.lend_remote(path))

    def start(self, branch: str) -> bool:
        """Check the branch out, made if need be; whether it is new.

        A new one starts at the remote's branch of that name, else at the remote's main branch, else
        at the clone's HEAD.
        """
        own, remote = f"refs/heads/{branch}", self.git.remote.name if self.git.remote else ""
        theirs = f"refs/remotes/{remote}/{branch}"
        if self.succeeds("symbolic-ref", "--quiet", own):
            raise UsageFault(f"the clone's branch {branch} stands for another one; delete it")
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
        # Not the clone's index: what the user has staged stays as it is
        env = {"GIT_INDEX_FILE": str(work / "index"), "GIT_WORK_TREE": str(work)}
        # The stage has no .gitattributes of the clone: git then takes those of the index
        self.run("read-tree", "HEAD", env=env)
        # -f, as .gitignore must not keep logs out
        self.run("add", "-A", "-f", "--", folder, env=env)
        listing = self.run("ls-files", "-s", "-z", "--", folder, env=env)
        listed = list(_listed(listing))
        for oid, path in listed:
            if blob_id(work / path, len(oid)) != oid:
                raise _altered(path, "text, eol, ident, working-tree-encoding")
        text = "".join(f"{path}\0" for _, path in listed).encode("utf-8", "surrogateescape")
        found = self.run("check-attr", "-z", "--cached", "--stdin", "filter", env=env, text=text)
        parts = found.split("\0")
        for path, name in zip(parts[::3], parts[2::3], strict=False):
            # Not run, but the next `git add` of the user's would be of another content
            if name in self.git.user_filters:
                raise _altered(path, f"filter {clean(name)}")

    def commit(self, folder: str, message: str) -> bool:
        """Commit the folder alone; whether there was anything to commit."""
        self.run("add", "-A", "-f", "--", folder)
        if self.succeeds("diff", *NO_PROGRAMS, "--cached", "--quiet", "HEAD", "--", folder):
            self.verify_commit(folder)
            return False
        # Verbatim, as the user's commit.cleanup could strip lines; the folder alone, as other
        # staged files are not part of the submission
        self.run("commit", "--quiet", "--cleanup=verbatim", "-m", message, "--", folder)
        self.verify_commit(folder)
        return True

    def verify_commit(self, folder: str) -> None:
        """Raise UsageFault where the commit does not have the files of the folder as they are."""
        if found := self.differing_from_head([folder]):
            raise UsageFault(
                f"{clean(found[0])} differs from the commit that git made of it; nothing was "
                "pushed: pack into a new clone"
            )

    def differing_from_head(self, names: Sequence[str]) -> list[str]:
        """Paths below names at the top that are not, byte by byte, what the commit has."""
        tree = self.objects.tree_of(self.commit_id())
        return list(differing(self.root, tree, self.objects, names=frozenset(names)))

    # --- pushing ---

    def commit_id(self) -> str:
        """The commit that is checked out."""
        return self.run("rev-parse", "--verify", "HEAD")

    def reset(self, commit: str) -> None:
        """Put the branch back to one of its own commits, after a rebase that is not wanted."""
        self.run("reset", "--quiet", "--hard", commit)

    def bring_up(self, branch: str) -> bool:
        """Put the branch's own commits on top of the remote's; whether that had moved."""
        theirs = f"refs/remotes/{self.remote().name}/{branch}"
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
        ref, remote = f"refs/heads/{branch}", self.remote()
        try:
            self.run("push", "--quiet", self._address("--push"), f"{ref}:{ref}")
        except UsageFault as fault:
            # Somebody has pushed meanwhile: that is tried again, and never forced
            if re.search(r"non-fast-forward|fetch first|rejected|cannot lock ref", str(fault)):
                return False
            raise
        self.run("update-ref", f"refs/remotes/{remote.name}/{branch}", ref)
        # As --set-upstream does, which would set it in what stands for the configuration
        file = ("config", "--file", str(self.directory.common / "config"), "--replace-all")
        self.succeeds(*file, f"branch.{branch}.remote", remote.name)
        self.succeeds(*file, f"branch.{branch}.merge", ref)
        return True

    # --- what a branch changes ---

    def oid_of(self, ref: str) -> str:
        """The object that a branch, tag or commit stands for; raises UsageFault for no such."""
        if not self._has(ref):
            raise UsageFault(f"--since {clean(ref)}: there is no such branch, tag or commit")
        return self.run("rev-parse", "--verify", "--quiet", ref)

    def changes(self, ref: str) -> list[PathChange]:
        """What HEAD changes since it left a ref; raises UsageFault for no such ref."""
        since = f"{self.oid_of(ref)}...HEAD"
        # What the history says counts only where each commit has the name it goes by
        listed = self.run("rev-list", "--boundary", since).split()
        self.objects.verify([oid.removeprefix("-") for oid in listed])
        # Three dots: since the common ancestor, without what others have done on the other side
        how = (*NO_PROGRAMS, "--name-status", "--no-renames", "-z")
        parts = [part for part in self.run("diff", *how, since).split("\0") if part]
        return [
            PathChange(how[:1], path) for how, path in zip(parts[::2], parts[1::2], strict=True)
        ]

    def large_blobs(self, ref: str, limit: int) -> Iterator[tuple[str, int]]:
        """(path, bytes) of files over a limit in any commit since a ref, deleted or not."""
        since = f"{self.oid_of(ref)}..HEAD"
        # git leaves out what has at least this size; a file of the limit itself is allowed
        larger = (f"--filter=blob:limit={limit + 1}", "--filter-print-omitted")
        listed = self.run("rev-list", "--objects", *larger, since).splitlines()
        large = {line[1:] for line in listed if line.startswith("~")}
        if not large:
            return
        every = self.run("rev-list", "--objects", since).splitlines()
        for oid, _, path in (line.partition(" ") for line in every):
            if oid in large:
                yield path, int(self.run("cat-file", "-s", oid))


def _no_option(name: str) -> str:
    """A name from the clone; raises UsageFault for one that git would take for an option."""
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
        f"git would alter {clean(path)}: .gitattributes asks for it ({attributes}); take "
        f"{path.partition('/')[0]} out of it"
    )
