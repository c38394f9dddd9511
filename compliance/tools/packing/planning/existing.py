"""The tree that exists at the target, and what would change in it: nothing unless named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.tools.packing.planning.plan import Plan, PlannedFile
from podium.compliance.tools.packing.planning.sources import SourceFault, same_bytes, source_of
from podium.compliance.tools.packing.receipt import RECEIPT_FILE


@dataclass(slots=True)
class ExistingTree:
    """The target as it is, compared with the plan; paths are below the target."""

    exists: bool = False
    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    @property
    def unchanged(self) -> bool:
        """Whether the target is already as planned."""
        return self.exists and not (self.different or self.extra or self.new)


def compare(plan: Plan, target: Path) -> ExistingTree:
    """Compare the target with the plan; raises UsageFault where it is not a folder."""
    # A link that leads to nothing is in the way as well
    if not os.path.lexists(target):
        return ExistingTree(new=sorted(plan.entries))
    if target.is_symlink() or not target.is_dir():
        raise UsageFault(f"{target} is not a folder; choose another with --into")
    existing = ExistingTree(exists=True)
    there = set(_files(target))
    for entry in plan.sorted():
        if entry.path not in there:
            existing.new.append(entry.path)
        elif _same(entry, target / entry.path):
            existing.same.append(entry.path)
        else:
            existing.different.append(entry.path)
    # The receipt in the tree is podium's own, and is written anew each time.
    existing.extra = sorted(there - plan.entries.keys() - {RECEIPT_FILE})
    return existing


def _files(folder: Path) -> Iterator[str]:
    """Everything below a folder but the folders."""
    for inside, folders, files in os.walk(folder):
        below = os.path.relpath(inside, folder)
        links = [name for name in folders if os.path.islink(os.path.join(inside, name))]
        for name in (*files, *links):
            yield name if below == "." else f"{below}/{name}"


def _same(entry: PlannedFile, path: Path) -> bool:
    source = entry.source
    try:
        there = source_of(path, path.parent, follow=False)
        if source.link is not None or there.link is not None:
            return source.link == there.link
        if (there.size, there.executable) != (source.size, source.executable):
            return False
        # A kept file is its own source, and need not be read
        return there.stamp == source.stamp or same_bytes(path, source.path)
    except (SourceFault, OSError):
        return False


def allow(
    plan: Plan, existing: ExistingTree, target: Path, replace: Sequence[str], keep: Sequence[str]
) -> None:
    """Make conflicts of changes that are not named; carry into the plan what is to be kept."""
    for path in existing.different:
        if not _named(path, replace):
            message = "the tree has it with other content; --replace it to overwrite it"
            plan.conflict(path, message)
    for path in list(existing.extra):
        if _named(path, keep):
            existing.extra.remove(path)
            existing.same.append(path)
            plan.add(path, source_of(target / path, plan.base, follow=False), "kept")
        elif not _named(path, replace):
            message = "it is in the tree, but not planned; --keep it, or --replace it to drop it"
            plan.conflict(path, message)


def _named(path: str, named: Sequence[str]) -> bool:
    """Whether a path is named, or a folder above it; a dot names all."""
    names = [name.removeprefix("./").rstrip("/") for name in named]
    # "./" and "/" leave an empty name, which must not name everything
    return any(name in (".", path) or path.startswith(f"{name}/") for name in names if name)


def refuse_own_sources(plan: Plan, target: Path) -> None:
    """Refuse to overwrite the sources of the tree."""
    inside = str(target.resolve()).rstrip("/") + "/"
    for entry in plan.entries.values():
        # A source may lead into the tree by a link
        if os.path.realpath(entry.source.path).startswith(inside):
            raise UsageFault(
                f"{entry.source.display_path} lies in {target}, which is to be written; "
                "choose another folder with --into"
            )
