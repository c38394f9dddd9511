"""The check whether a tree can be stored in a repository: names, sizes, links, secrets.

The verifier profile reports exactly what the official repository checker rejects: names with a
space or a leading dot, files over 50 MiB, and links whose target does not exist relative to the
folder in which the checker is started. The policy profile follows links from their own folder, and
warns of problems for git, for other systems and for readers.

Nothing is ever written. No link is followed out of the tree. No pipe or device is opened.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from podium.compliance.judging.inputs.listing import Disk, Item, ItemKind, holds
from podium.compliance.judging.repository.file_names import (
    collisions,
    name_finding,
    official_rule,
    plain,
    violated_rules,
)
from podium.compliance.judging.repository.repository_rules import (
    ABSOLUTE_LINK,
    BROKEN_LINK,
    CASE_COLLISION,
    ESCAPING_LINK,
    LARGE_FILE,
    LFS_POINTER,
    LINK_FROM_ELSEWHERE,
    LOCAL_PATH,
    SEARCH_ENDED,
    SECRET,
    SPECIAL_FILE,
    UNREADABLE,
)
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.repository.contents import FileReader
    from podium.compliance.judging.repository.secrets import Secrets

LARGE = 50 << 20
"""The official checker rejects a file with more bytes."""

REFUSED = 100 << 20
"""GitHub rejects a file with more bytes."""

MOST_PER_RULE = 200
"""Findings of one rule beyond this number are only counted, in one more finding."""

LONGEST_SHOWN = 120
"""Length of the longest path in a message."""

_USUAL = (ItemKind.FILE, ItemKind.FOLDER)


def check_repository(
    root: Path,
    rules: Round,
    profile: Profile,
    known_secrets: Mapping[str, Secrets | None] = MappingProxyType({}),
    disk: Disk | None = None,
    reader: FileReader | None = None,
) -> Iterator[Finding]:
    """Findings about files that cannot or should not be in a repository; paths are below `root`.

    The official checker has the same rules in every round; the policy profile warns of what it
    rejects in the rounds whose script calls it. `known_secrets` has the secrets of each log that
    has been read already, by its path. `disk` is an existing listing; `reader` has read some of
    the files.
    """
    disk = disk or Disk(root)
    if profile is Profile.VERIFIER:
        yield from _limited(_officially(disk))
        return
    findings = _Policy(root, known_secrets, reader).tree(disk)
    if not rules.package.repository_checked:
        findings = (finding for finding in findings if finding.stated_by is not StatedBy.VERIFIER)
    yield from _limited(findings)


def _folders(disk: Disk) -> Iterator[list[Item]]:
    """The items of each folder; a folder that cannot be listed is an item itself."""
    for path, folder in disk.walk(keep=False):
        if folder.problem:
            full_path = os.path.join(disk.root, path)
            yield [Item(path or ".", full_path, os.path.basename(full_path), ItemKind.UNREADABLE)]
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
        message = f"{counts[kind] - MOST_PER_RULE} more findings of this rule are not listed"
        yield replace(finding, path=".", line=None, message=message, actual=None, hint="")


def _too_large(item: Item, profile: Profile) -> Finding:
    refused = "; GitHub rejects files over 100 MiB" if item.size > REFUSED else ""
    path = plain(item.path)
    return LARGE_FILE.found(profile, path, mebibytes=item.size / (1 << 20), remark=refused)


def _officially(disk: Disk) -> Iterator[Finding]:
    """The findings of the official checker."""
    profile = Profile.VERIFIER
    # It also checks the name of the root
    name = os.path.basename(os.path.abspath(disk.root))
    rule = official_rule(name)
    if rule is not None:
        yield name_finding(rule, profile, name, ".")
    for item in itertools.chain.from_iterable(_folders(disk)):
        is_link = item.kind is ItemKind.LINK
        # It skips links to folders when it walks the tree
        if item.kind is ItemKind.UNREADABLE or (is_link and os.path.isdir(item.full)):
            continue
        rule = official_rule(item.name)
        if rule is not None:
            yield name_finding(rule, profile, item.name, item.path)
        if item.size > LARGE and item.kind is ItemKind.FILE:
            yield _too_large(item, profile)
        if is_link and not _found_from_here(item):
            yield BROKEN_LINK.found(
                profile,
                plain(item.path),
                problem="has no target relative to the folder in which podium was started",
            )


def _found_from_here(item: Item) -> bool:
    try:
        # The official checker resolves a relative target from the current folder, not the link's
        return os.path.exists(os.readlink(item.full))
    except (OSError, ValueError):
        return False


class _Policy:
    """The checks of the policy profile; links are followed from their own folder."""

    profile = Profile.POLICY

    def __init__(
        self, root: Path, known_secrets: Mapping[str, Secrets | None], reader: FileReader | None
    ) -> None:
        # The official checker does not read files
        from podium.compliance.judging.repository import contents, secrets

        self.root = os.path.realpath(root)
        self.known, self.search = known_secrets, secrets.Search()
        self.reader, self.is_pointer = reader or contents.FileReader(), contents.is_pointer

    def tree(self, disk: Disk) -> Iterator[Finding]:
        name = os.path.basename(self.root)
        rule = official_rule(name)
        if rule is not None:
            yield name_finding(rule, self.profile, name, ".")
        for items in _folders(disk):
            for item in items:
                # Nearly every item has a valid name, kind and size: no generator is made for it
                rules = violated_rules(item.name, item.path)
                if rules or item.kind not in _USUAL or item.size > LARGE:
                    yield from self.item(item, rules)
                if item.kind is ItemKind.FILE:
                    yield from self.content(item)
            for path, other in collisions([(item.path, item.name) for item in items]):
                yield CASE_COLLISION.found(self.profile, plain(path), other=other)
        if self.search.skipped:
            yield SEARCH_ENDED.found(self.profile, ".", files=self.search.skipped)

    def item(self, item: Item, rules: Sequence[FixedRule]) -> Iterator[Finding]:
        """Findings except about a file's content; `rules` are the rules that its name violates."""
        path = plain(item.path)
        if item.kind is ItemKind.UNREADABLE:
            yield UNREADABLE.found(self.profile, path)
            return
        for rule in rules:
            yield name_finding(rule, self.profile, item.name, item.path)
        if item.size > LARGE and item.kind is ItemKind.FILE:
            yield _too_large(item, self.profile)
        if item.kind is ItemKind.LINK:
            yield from self.link(item)
        elif item.kind is ItemKind.SPECIAL:
            yield SPECIAL_FILE.found(self.profile, path)

    def link(self, item: Item) -> Iterator[Finding]:
        path, target = plain(item.path), _target(item)
        if target is None or not os.path.exists(item.full):
            problem = "is circular" if _circles(item) else "is broken"
            problem += f" (target {plain(target or '?')})"
            yield BROKEN_LINK.found(self.profile, path, problem=problem)
        elif os.path.isabs(target):
            yield ABSOLUTE_LINK.found(self.profile, path, target=plain(target))
        elif not holds(self.root, os.path.realpath(item.full)):
            yield ESCAPING_LINK.found(self.profile, path, target=plain(target))
        elif not os.path.isdir(item.full):
            yield LINK_FROM_ELSEWHERE.found(self.profile, path)

    def content(self, item: Item) -> Iterator[Finding]:
        """Findings about a file's content."""
        path = plain(item.path)
        # None means that the file was not read yet; an empty answer, that it has no secret
        secrets, paths = self.known.get(item.path), None
        if secrets is None:
            contents = self.reader.contents(item, self.search)
            pointer, secrets, paths = contents.pointer, contents.secrets, contents.local
        else:
            pointer = self.is_pointer(item)
        if pointer:
            yield LFS_POINTER.found(self.profile, path)
            return
        # Only the kind: a report is passed around, and must not repeat the secret
        for line, kind in secrets:
            yield SECRET.found(self.profile, path, line=line, kind=kind)
        if paths is not None:
            first, suffix = paths.first[:LONGEST_SHOWN], ""
            if paths.number > 1:
                suffix = f" and {paths.number - 1} more"
            yield LOCAL_PATH.found(self.profile, path, line=paths.line, first=first, more=suffix)


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
