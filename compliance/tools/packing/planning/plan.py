"""What goes where: the plan of a tree, made without writing anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.judging.files import FileVerdict
from podium.compliance.tools.packing.planning.config import PackConfig
from podium.compliance.tools.packing.planning.sources import (
    FolderFile,
    LeftOut,
    Source,
    SourceFault,
    in_folder,
    same_content,
    shown_path,
    source_of,
)
from podium.rules.model.round import Round


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of the tree: its path, its source, and a note on it."""

    path: str
    source: Source
    why: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A message about a path in the tree."""

    path: str
    message: str


@dataclass(slots=True)
class Plan:
    """The tree as it is to be.

    `folders` are copied whole: path and source; `remarks` are about folders; `missing` is what
    a submission needs and no source gives, `absent` what is named and not there; with `conflicts`
    nothing is written. `judged` are the verdicts on logs that were read, by path.
    """

    config: PackConfig
    rules: Round
    base: Path
    entries: dict[str, PlannedFile] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    missing: list[Remark] = field(default_factory=list)
    absent: list[Remark] = field(default_factory=list)
    conflicts: list[Remark] = field(default_factory=list)
    judged: dict[str, FileVerdict] = field(default_factory=dict)

    def stopped(self, *, force: bool = False) -> bool:
        """Whether nothing may be written; `force` does without what is absent."""
        return bool(self.conflicts or not self.entries or (self.absent and not force))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.source.size for entry in self.entries.values())

    def sorted(self) -> list[PlannedFile]:
        """The entries in order of path."""
        return [self.entries[path] for path in sorted(self.entries)]

    def add(self, path: str, source: Source, why: str = "") -> None:
        """Put a file into the tree; a second one with the same path must be the same."""
        before = self.entries.get(path)
        if before is None:
            self.entries[path] = PlannedFile(path, source, why)
        else:
            self._again(before, source)

    def _again(self, before: PlannedFile, source: Source) -> None:
        one = before.source
        try:
            alike = same_content(one, source)
        except OSError as error:
            self.conflict(
                before.path, f"{source.display_path} cannot be compared: {error.strerror}"
            )
            return
        if alike:
            if one.path != source.path:
                self.leave_out(
                    source.display_path, f"same as {one.display_path}, the source of {before.path}"
                )
            return
        self.conflict(
            before.path,
            f"{one.display_path} ({one.size} bytes) and {source.display_path} ({source.size} "
            "bytes) differ; remove one of them",
        )

    def remark(self, path: str, message: str) -> None:
        """Note something about a folder."""
        self.remarks.append(Remark(path, message))

    def miss(self, path: str, message: str) -> None:
        """Note what a submission needs and no source gives."""
        self.missing.append(Remark(path, message))

    def lack(self, path: str, message: str) -> None:
        """Note what the configuration names and is absent."""
        self.absent.append(Remark(path, message))

    def conflict(self, path: str, message: str) -> None:
        """Note why nothing can be written."""
        self.conflicts.append(Remark(path, message))

    def leave_out(self, display_path: str, why: str, *, refused: bool = False) -> None:
        """Note a file that is left out."""
        self.left_out.append(LeftOut(display_path, why, refused))

    def check_paths(self) -> None:
        """Find paths that exclude each other: a file where another needs a folder."""
        for path in list(self.entries):
            # Trees of several teams may have a file and a folder of one name
            for above in _above(path):
                if above in self.entries:
                    self.conflict(above, f"it is a file, and {path} needs a folder there")


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def put_file(plan: Plan, path: str, source: str, kind: str) -> None:
    """Put a file into the plan, or note that it is absent; `kind` is what it is to the user."""
    try:
        plan.add(path, source_of(plan.base / source, plan.base))
    except SourceFault as fault:
        plan.lack(path, f"{kind}: {source}: {fault}")


def put_folder(plan: Plan, path: str, full: Path, exclude: Iterable[str] = ()) -> None:
    """Put all files and links of a folder into the plan, but for those excluded."""
    display_path = shown_path(full, plan.base)
    plan.folders[path] = display_path
    for found in in_folder(full, plan.base, tuple(exclude)):
        if found.source is None:
            pass_over(plan, path, display_path, found)
        else:
            plan.add(f"{path}/{found.below}", found.source)


def pass_over(plan: Plan, path: str, display_path: str, found: FolderFile) -> None:
    """Leave out a file of the folder `display_path`; what cannot be read lets nothing be written.

    `path` is the folder's in the tree, empty for the tree itself.
    """
    source = f"{display_path}/{found.below}".removesuffix("/")
    if found.unreadable:
        to = "/".join(part for part in (path, found.below) if part) or "."
        plan.conflict(to, f"{source}: {found.why}")
    else:
        plan.leave_out(source, found.why)
