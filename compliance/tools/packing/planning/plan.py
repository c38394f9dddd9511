"""The plan of a tree: the source of each path. Making a plan writes nothing."""

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
    """The planned tree.

    `folders` are copied completely: path and source. `remarks` are about folders. `missing` lists
    files that a submission needs and that no source provides. `absent` lists files that the
    configuration names and that do not exist. If there are `conflicts`, nothing is written.
    `judged` has the verdicts on the logs, by path.
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
        """Whether nothing may be written; `force` ignores absent files."""
        return bool(self.conflicts or not self.entries or (self.absent and not force))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.source.size for entry in self.entries.values())

    def sorted(self) -> list[PlannedFile]:
        """The entries, sorted by path."""
        return [self.entries[path] for path in sorted(self.entries)]

    def add(self, path: str, source: Source, why: str = "") -> None:
        """Add a file to the tree; a second file for the same path must have the same content."""
        before = self.entries.get(path)
        if before is None:
            self.entries[path] = PlannedFile(path, source, why)
        else:
            self._again(before, source)

    def _again(self, before: PlannedFile, source: Source) -> None:
        first = before.source
        try:
            is_copy = same_content(first, source)
        except OSError as error:
            self.conflict(
                before.path, f"{source.display_path} cannot be compared: {error.strerror}"
            )
            return
        if is_copy:
            if first.path != source.path:
                self.leave_out(
                    source.display_path,
                    f"same as {first.display_path}, the source of {before.path}",
                )
            return
        self.conflict(
            before.path,
            f"{first.display_path} ({first.size} bytes) and {source.display_path} ({source.size} "
            "bytes) differ; remove one of them",
        )

    def remark(self, path: str, message: str) -> None:
        """Add a remark on a folder."""
        self.remarks.append(Remark(path, message))

    def miss(self, path: str, message: str) -> None:
        """Note a file that a submission needs and that no source provides."""
        self.missing.append(Remark(path, message))

    def lack(self, path: str, message: str) -> None:
        """Note a file that the configuration names and that does not exist."""
        self.absent.append(Remark(path, message))

    def conflict(self, path: str, message: str) -> None:
        """Add a conflict, which prevents writing."""
        self.conflicts.append(Remark(path, message))

    def leave_out(self, display_path: str, why: str, *, refused: bool = False) -> None:
        """Note a file that is left out."""
        self.left_out.append(LeftOut(display_path, why, refused))

    def check_paths(self) -> None:
        """Add a conflict for each file whose path is also a folder of another file."""
        for path in list(self.entries):
            # Trees of several teams may have a file and a folder of one name
            for above in _above(path):
                if above in self.entries:
                    self.conflict(above, f"it is a file, but {path} needs a folder with this name")


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def put_file(plan: Plan, path: str, source: str, kind: str) -> None:
    """Add a file to the plan, or note that it is absent; `kind` names it in messages."""
    try:
        plan.add(path, source_of(plan.base / source, plan.base))
    except SourceFault as fault:
        plan.lack(path, f"{kind}: {source}: {fault}")


def put_folder(plan: Plan, path: str, full: Path, exclude: Iterable[str] = ()) -> None:
    """Add all files and links of a folder to the plan, except excluded ones."""
    display_path = shown_path(full, plan.base)
    plan.folders[path] = display_path
    for file in in_folder(full, plan.base, tuple(exclude)):
        if file.source is None:
            pass_over(plan, path, display_path, file)
        else:
            plan.add(f"{path}/{file.below}", file.source)


def pass_over(plan: Plan, path: str, display_path: str, file: FolderFile) -> None:
    """Leave out a file of the folder `display_path`; an unreadable file is a conflict.

    `path` is the path of the folder in the tree, empty for the tree itself.
    """
    source = f"{display_path}/{file.below}".removesuffix("/")
    if file.unreadable:
        to = "/".join(part for part in (path, file.below) if part) or "."
        plan.conflict(to, f"{source}: {file.why}")
    else:
        plan.leave_out(source, file.why)
