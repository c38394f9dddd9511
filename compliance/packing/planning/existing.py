"""What stands at the target already, and what of it would change: nothing goes unnamed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.packing.planning.plan import Entry, Plan
from podium.compliance.packing.planning.sources import SourceFault, same_bytes, source_of
from podium.compliance.packing.receipt import RECEIPT_FILE


@dataclass(slots=True)
class ExistingTree:
    """The target as it is, held against the plan; places are below the target."""

    exists: bool = False
    same: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    @property
    def unchanged(self) -> bool:
        """Whether the target is already what the plan says."""
        return self.exists and not (self.different or self.extra or self.new)


def compare(plan: Plan, target: Path) -> ExistingTree:
    """Hold the target against the plan; raises UsageFault where it is no folder."""
    if not os.path.lexists(target):
        return ExistingTree(new=sorted(plan.entries))
    if target.is_symlink() or not target.is_dir():
        raise UsageFault(f"{target} is no folder; choose another place with --into")
    standing = ExistingTree(exists=True)
    there = set(_files(target))
    for entry in plan.sorted():
        if entry.place not in there:
            standing.new.append(entry.place)
        elif _same(entry, target / entry.place):
            standing.same.append(entry.place)
        else:
            standing.different.append(entry.place)
    # The receipt in the tree is podium's own, and is written anew each time.
    standing.extra = sorted(there - plan.entries.keys() - {RECEIPT_FILE})
    return standing


def _files(folder: Path) -> Iterator[str]:
    """Everything below a folder that is no folder."""
    for inside, folders, files in os.walk(folder):
        below = os.path.relpath(inside, folder)
        links = [name for name in folders if os.path.islink(os.path.join(inside, name))]
        for name in (*files, *links):
            yield name if below == "." else f"{below}/{name}"


def _same(entry: Entry, path: Path) -> bool:
    source = entry.source
    try:
        there = source_of(path, path.parent, follow=False)
        if source.link is not None or there.link is not None:
            return source.link == there.link
        if (there.size, there.executable) != (source.size, source.executable):
            return False
        return there.stamp == source.stamp or same_bytes(path, source.path)
    except (SourceFault, OSError):
        return False


def allow(
    plan: Plan, standing: ExistingTree, target: Path, replace: Sequence[str], keep: Sequence[str]
) -> None:
    """Make conflicts of what would change unnamed; carry over into the plan what is to be kept."""
    for place in standing.different:
        if not _named(place, replace):
            said = (
                "the tree has it with other content; --replace it to put the new one in its place"
            )
            plan.conflict(place, said)
    for place in list(standing.extra):
        if _named(place, keep):
            standing.extra.remove(place)
            standing.same.append(place)
            plan.add(place, source_of(target / place, plan.base, follow=False), "kept")
        elif not _named(place, replace):
            said = "the tree has it and the plan has not; --keep it, or --replace it to drop it"
            plan.conflict(place, said)


def _named(place: str, named: Sequence[str]) -> bool:
    """Whether a place is named, or a folder that it lies in; a dot is all."""
    names = [name.removeprefix("./").rstrip("/") for name in named]
    return any(name in (".", place) or place.startswith(f"{name}/") for name in names if name)


def refuse_own_sources(plan: Plan, target: Path) -> None:
    """Refuse to write a tree over the files that it is made of."""
    inside = str(target.resolve()).rstrip("/") + "/"
    for entry in plan.entries.values():
        if os.path.realpath(entry.source.path).startswith(inside):
            raise UsageFault(
                f"{entry.source.display_path} lies in {target}, which is to be written; "
                "choose another "
                "place with --into"
            )
