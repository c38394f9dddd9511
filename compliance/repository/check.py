"""Whether a tree can live in a repository: names, sizes, links, secrets.

In the verifier profile exactly what the official repository checker rejects: names with a space or
a leading dot, files over 50 MiB, and links whose target does not exist as seen from the folder that
the checker is started in. In the policy profile links are followed from where they lie, and what
git, another system or a reader would stumble over is a warning.

Nothing is ever written, no link is followed out of the tree, no pipe or device is opened.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from podium.compliance.inputs.listing import Disk, Item, Kind, holds
from podium.compliance.repository.file_names import (
    Fault,
    collisions,
    name_faults,
    official_name,
    plain,
)
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.round import Round

if TYPE_CHECKING:
    from podium.compliance.repository.secrets import Secrets

CITES = "official repository checker"

LARGE = 50 << 20
"""Above this many bytes the official checker rejects a file."""

REFUSED = 100 << 20
"""Above this many GitHub takes no file."""

MOST_PER_RULE = 200
"""Findings of one rule beyond this many are counted in one more."""

_USUAL = (Kind.FILE, Kind.FOLDER)

_POINTER = b"version https://git-lfs.github.com/spec/"


def check_repository(
    root: Path,
    rules: Round,
    profile: Profile,
    known: Callable[[str], Secrets | None] = lambda _: None,
    disk: Disk | None = None,
) -> Iterator[Finding]:
    """Everything in a tree that cannot or should not be in a repository; paths are below `root`.

    `rules` decides nothing yet: the official checker judges every round alike. `known` gives the
    secrets of a log that has been read already, by its path; `disk` is what was listed already.
    """
    del rules
    inspect = _Verifier() if profile is Profile.VERIFIER else _Policy(root, known)
    yield from _limited(inspect.tree(disk or Disk(root)))


def _folders(disk: Disk) -> Iterator[list[Item]]:
    """The items of each folder; a folder that cannot be listed stands for itself."""
    for path, folder in disk.walk(keep=False):
        if folder.problem:
            full = os.path.join(disk.root, path)
            yield [Item(path or ".", full, os.path.basename(full), Kind.UNREADABLE)]
        else:
            yield folder.items


def _limited(findings: Iterator[Finding]) -> Iterator[Finding]:
    counts: Counter[tuple[str, Severity]] = Counter()
    last: dict[tuple[str, Severity], Finding] = {}
    for finding in findings:
        kind = (finding.id, finding.severity)
        counts[kind] += 1
        if counts[kind] <= MOST_PER_RULE:
            yield finding
        else:
            last[kind] = finding
    for kind, finding in last.items():
        more = counts[kind] - MOST_PER_RULE
        said = f"{more} more findings of this rule are not listed"
        yield replace(finding, path=".", line=None, message=said, actual=None, hint="")


def finding(path: str, fault: Fault, severity: Severity | None = None) -> Finding:
    """The finding that a fault makes at a path; what the checker rejects is an error."""
    policy_only = fault.stated_by is StatedBy.POLICY
    weight = severity or (Severity.WARNING if policy_only else Severity.ERROR)
    return Finding(
        fault.id,
        weight,
        plain(path),
        fault.line,
        None,
        fault.message,
        hint=fault.hint,
        cites="" if policy_only else CITES,
        stated_by=fault.stated_by,
    )


def _too_large(item: Item) -> Fault:
    said = f"the file has {item.size / (1 << 20):.1f} MiB, and 50 MiB is the most"
    if item.size > REFUSED:
        said += "; GitHub takes no file over 100 MiB"
    return Fault("repo.large-file", said, "keep large files out of the tree", StatedBy.VERIFIER)


def _links_to_folder(item: Item) -> bool:
    """Whether a link leads to a folder; the official checker passes such links over."""
    return item.kind is Kind.LINK and os.path.isdir(item.full)


class _Verifier:
    """The official checker's reading."""

    def tree(self, disk: Disk) -> Iterator[Finding]:
        name = official_name(os.path.basename(os.path.abspath(disk.root)))
        if name is not None:
            yield finding(".", name)
        for items in _folders(disk):
            for item in items:
                if item.kind is not Kind.UNREADABLE and not _links_to_folder(item):
                    yield from (finding(item.path, fault) for fault in self.faults(item))

    def faults(self, item: Item) -> Iterator[Fault]:
        name = official_name(item.name)
        if name is not None:
            yield name
        if item.size > LARGE and item.kind is Kind.FILE:
            yield _too_large(item)
        if item.kind is Kind.LINK and not _found_from_here(item):
            said = "the link's target does not exist, as seen from the folder podium was started in"
            hint = "put the file itself in the link's place"
            yield Fault("repo.broken-link", said, hint, StatedBy.VERIFIER)


def _found_from_here(item: Item) -> bool:
    try:
        return os.path.exists(os.readlink(item.full))
    except (OSError, ValueError):
        return False


class _Policy:
    """What a reader of the tree would stumble over; links count from where they lie."""

    def __init__(self, root: Path, known: Callable[[str], Secrets | None]) -> None:
        from podium.compliance.repository import (
            secrets as leaks,  # the official checker looks for no secrets
        )

        self.root = os.path.realpath(root)
        self.known = known
        self.head = leaks.read_head
        self.search = leaks.Search()

    def tree(self, disk: Disk) -> Iterator[Finding]:
        name = official_name(os.path.basename(self.root))
        if name is not None:
            yield finding(".", name)
        for items in _folders(disk):
            for item in items:
                faults = name_faults(item.name, item.path)
                if faults or item.kind not in _USUAL or item.size > LARGE:
                    yield from self.item(item, faults)
                if item.kind is Kind.FILE:
                    yield from self.content(item)
            for path, fault in collisions([(item.path, item.name) for item in items]):
                yield finding(path, fault)
        if self.search.skipped:
            files = self.search.skipped
            said = f"{files} files were not searched for secrets: the tree is too large"
            note = Fault("repo.search-ended", said, "search them by another tool")
            yield finding(".", note, Severity.NOTE)

    def item(self, item: Item, faults: Sequence[Fault]) -> Iterator[Finding]:
        """What is wrong with anything but a file's content, given what is wrong with its name."""
        if item.kind is Kind.UNREADABLE:
            fault = Fault("repo.unreadable", "it cannot be read", "mend its permissions or place")
            yield finding(item.path, fault, Severity.ERROR)
            return
        for fault in faults:
            # A clone's own folder is no part of what is submitted; links to folders pass.
            official = fault.stated_by is StatedBy.VERIFIER
            own = official and (item.path == ".git" or _links_to_folder(item))
            yield finding(item.path, fault, Severity.WARNING if own else None)
        if item.size > LARGE and item.kind is Kind.FILE:
            yield finding(item.path, _too_large(item))
        if item.kind is Kind.LINK:
            yield from self.link(item)
        elif item.kind is Kind.SPECIAL:
            said = "neither a file, a folder nor a link: a repository cannot hold it"
            yield finding(item.path, Fault("repo.special-file", said, "remove it"))

    def link(self, item: Item) -> Iterator[Finding]:
        target = _target(item)
        here = "put the file itself in the link's place"
        if target is None or not os.path.exists(item.full):
            loop = "leads in a circle" if _circles(item) else "leads to nothing"
            said = f"the link {loop} ({plain(target or '?')})"
            yield finding(item.path, Fault("repo.broken-link", said, here, StatedBy.BOTH))
            return
        place = os.path.realpath(item.full)
        if os.path.isabs(target):
            said = f"the link is absolute ({plain(target)}): on another machine it leads nowhere"
            yield finding(item.path, Fault("repo.absolute-link", said, "write it from its folder"))
        elif not holds(self.root, place):
            said = f"the link leads out of the tree ({plain(target)})"
            yield finding(item.path, Fault("repo.escaping-link", said, here))
        elif not os.path.isdir(item.full):
            said = "the official checker takes the target from the folder it is started in, so that"
            said += " it may call this link broken"
            fault = Fault("repo.link-from-elsewhere", said, here, StatedBy.VERIFIER)
            yield finding(item.path, fault, Severity.WARNING)

    def content(self, item: Item) -> list[Finding]:
        """What is wrong with what a file holds."""
        small = self.head(item.full, item.size) if item.size < 1024 else None
        if small is not None and small.startswith(_POINTER):
            said = "a pointer to a large file kept elsewhere (git LFS), not the file itself"
            return [finding(item.path, Fault("repo.lfs-pointer", said, "commit the file itself"))]
        found = self.known(item.path)
        if found is None:
            found = self.search.file(item.full, item.size, small)
        return [_secret(item.path, line, kind) for line, kind in found] if found else []


def _secret(path: str, line: int, kind: str) -> Finding:
    said = f"what looks like a secret stands here ({kind})"
    hint = "remove it and revoke it: whoever reads the tree can use it"
    return finding(path, Fault("repo.secret", said, hint, line=line))


def _target(item: Item) -> str | None:
    try:
        return os.readlink(item.full)
    except OSError:
        return None


def _circles(item: Item) -> bool:
    try:
        os.stat(item.full)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
