"""The tree that exists at the target, and its changes: podium changes only named paths."""

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
    """The current target compared with the plan; paths are relative to the target."""

    exists: bool = False
    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    @property
    def unchanged(self) -> bool:
        """Whether the target matches the plan."""
        return self.exists and not (self.different or self.extra or self.new)


def compare(plan: Plan, target: Path) -> ExistingTree:
    """Compare the target with the plan; raises UsageFault if it is not a folder."""
    # A broken link is in the way too
    if not os.path.lexists(target):
        return ExistingTree(new=sorted(plan.entries))
    if target.is_symlink() or not target.is_dir():
        raise UsageFault(f"{target} is not a folder; choose another with --into")
    existing = ExistingTree(exists=True)
    present = set(_files(target))
    for entry in plan.sorted():
        if entry.path not in present:
            existing.new.append(entry.path)
        elif _same(entry, target / entry.path):
            existing.same.append(entry.path)
        else:
            existing.different.append(entry.path)
    # podium writes the receipt in the tree again each time
    existing.extra = sorted(present - plan.entries.keys() - {RECEIPT_FILE})
    return existing


def _files(folder: Path) -> Iterator[str]:
    """All files and links below a folder."""
    for inside, folders, files in os.walk(folder):
        below = os.path.relpath(inside, folder)
        links = [name for name in folders if os.path.islink(os.path.join(inside, name))]
        for name in (*files, *links):
            yield name if below == "." else f"{below}/{name}"


def _same(entry: PlannedFile, path: Path) -> bool:
    source = entry.source
    try:
        target_source = source_of(path, path.parent, follow=False)
        if source.link is not None or target_source.link is not None:
            return source.link == target_source.link
        if (target_source.size, target_source.executable) != (source.size, source.executable):
            return False
        # A kept file is identical to its source and need not be read
        return target_source.stamp == source.stamp or same_bytes(path, source.path)
    except (SourceFault, OSError):
        return False


def allow(
    plan: Plan, existing: ExistingTree, target: Path, replace: Sequence[str], keep: Sequence[str]
) -> None:
    """Add a conflict for each change that is not named; add the files to keep to the plan."""
    for path in existing.different:
        if not _named(path, replace):
            message = "the file exists with different content; use --replace to overwrite it"
            plan.conflict(path, message)
    for path in list(existing.extra):
        if _named(path, keep):
            existing.extra.remove(path)
            existing.same.append(path)
            plan.add(path, source_of(target / path, plan.base, follow=False), "kept")
        elif not _named(path, replace):
            message = (
                "the file exists but is not in the plan; use --keep to keep it, or --replace to "
                "remove it"
            )
            plan.conflict(path, message)


def _named(path: str, names_given: Sequence[str]) -> bool:
    """Whether a path or a folder above it is named; a dot names all paths."""
    names = [name.removeprefix("./").rstrip("/") for name in names_given]
    # "./" and "/" become an empty name, which must not match everything
    return any(name in (".", path) or path.startswith(f"{name}/") for name in names if name)


def refuse_own_sources(plan: Plan, target: Path) -> None:
    """Raise UsageFault if a source of the plan is in the target."""
    inside = str(target.resolve()).rstrip("/") + "/"
    for entry in plan.entries.values():
        # A source may be in the tree through a link
        if os.path.realpath(entry.source.path).startswith(inside):
            raise UsageFault(
                f"{entry.source.display_path} is in {target}, which pack would overwrite; "
                "choose another folder with --into"
            )
