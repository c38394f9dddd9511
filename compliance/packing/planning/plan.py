"""What goes where: the plan of a tree, made without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.checking.files import Judged
from podium.compliance.packing.planning.config import PackConfig
from podium.compliance.packing.planning.sources import LeftOut, Source
from podium.rules.round import Round


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the tree: its place, where it is taken from, and what is to be said of it."""

    place: str
    source: Source
    why: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something told of a place in the tree."""

    place: str
    said: str


@dataclass(slots=True)
class Plan:
    """The tree as it is to be.

    `folders` are copied whole: place and where from; `remarks` are about folders; `missing` is what
    a submission needs and no source gives, `absent` what is named and not there; with `conflicts`
    nothing is written. `judged` are the verdicts on logs that were read, by place.
    """

    config: PackConfig
    rules: Round
    base: Path
    entries: dict[str, Entry] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    missing: list[Remark] = field(default_factory=list)
    absent: list[Remark] = field(default_factory=list)
    conflicts: list[Remark] = field(default_factory=list)
    judged: dict[str, Judged] = field(default_factory=dict)

    def stopped(self, *, force: bool = False) -> bool:
        """Whether nothing may be written; what is absent can be done without, if that is said."""
        return bool(self.conflicts or not self.entries or (self.absent and not force))

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.source.size for entry in self.entries.values())

    def sorted(self) -> list[Entry]:
        """The entries in order of place."""
        return [self.entries[place] for place in sorted(self.entries)]

    def add(self, place: str, source: Source, why: str = "") -> None:
        """Put a file into the tree; a second one for the same place must be the same."""
        before = self.entries.get(place)
        if before is None:
            self.entries[place] = Entry(place, source, why)
        else:
            self._again(before, source)

    def _again(self, before: Entry, source: Source) -> None:
        from podium.compliance.packing.planning.sources import same_content

        one = before.source
        try:
            alike = same_content(one, source)
        except OSError as error:
            self.conflict(
                before.place, f"{source.display_path} cannot be compared: {error.strerror}"
            )
            return
        if alike:
            if one.path != source.path:
                self.leave_out(
                    source.display_path, f"the same as {one.display_path}, which {before.place} is"
                )
            return
        self.conflict(
            before.place,
            f"{one.display_path} ({one.size} bytes) and {source.display_path} ({source.size} "
            "bytes) differ; "
            "one of them must go",
        )

    def remark(self, place: str, said: str) -> None:
        """Say something of a folder."""
        self.remarks.append(Remark(place, said))

    def miss(self, place: str, said: str) -> None:
        """Say what a submission needs and does not get."""
        self.missing.append(Remark(place, said))

    def lack(self, place: str, said: str) -> None:
        """Say what the configuration names and is not there."""
        self.absent.append(Remark(place, said))

    def conflict(self, place: str, said: str) -> None:
        """Say what stands against writing."""
        self.conflicts.append(Remark(place, said))

    def leave_out(self, display_path: str, why: str, *, refused: bool = False) -> None:
        """Say of a file that it is not taken."""
        self.left_out.append(LeftOut(display_path, why, refused))

    def check_places(self) -> None:
        """Find places that cannot both be: a file where another needs a folder."""
        for place in list(self.entries):
            for above in _above(place):
                if above in self.entries:
                    self.conflict(above, f"it is a file, and {place} needs a folder there")


def _above(place: str) -> Iterator[str]:
    parts = place.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
