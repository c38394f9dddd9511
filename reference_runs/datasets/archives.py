"""Images in tar archives, as in webdataset, or in separate files.

An archive is read in place: the offsets of its members are found once, from their headers.
"""

from __future__ import annotations

import tarfile
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGES = ("jpg", "jpeg")


class Member(NamedTuple):
    """A file in an archive, and the position of its bytes."""

    archive: Path
    name: str
    """The name without the folders in the archive."""
    begin: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}: {self.name}"

    @property
    def key(self) -> str:
        """The part of the name that all files of a sample share: everything up to the first dot."""
        return self.name.partition(".")[0]

    @property
    def kind(self) -> str:
        """The rest of the name, in lower case."""
        return self.name.partition(".")[2].lower()

    def read(self) -> bytes:
        """The content; raises DataMissing if the archive is truncated."""
        try:
            with self.archive.open("rb") as stream:
                stream.seek(self.begin)
                content = stream.read(self.size)
        except OSError as error:
            raise DataMissing(f"{self} cannot be read: {error.strerror}") from None
        if len(content) < self.size:
            raise DataMissing(
                f"{self} has {self.size} bytes; the archive ends after {len(content)}"
            )
        return content


def archives(folder: Path) -> list[Path]:
    """The tar archives of a folder, sorted by name."""
    return sorted(folder.glob("*.tar"))


def members(archive: Path) -> Iterator[Member]:
    """The files of an uncompressed archive, in its order; raises DataMissing."""
    try:
        with tarfile.open(archive, "r:") as opened:
            for member in opened:
                if member.isfile():
                    name = member.name.rpartition("/")[2]
                    yield Member(archive, name, member.offset_data, member.size)
                # Otherwise tarfile keeps each header until the end: gigabytes for ImageNet
                opened.members = []  # type: ignore[attr-defined]
    except (OSError, tarfile.TarError) as error:
        raise unreadable(archive, error) from None


def unreadable(archive: Path, error: Exception) -> DataMissing:
    """The error for a file that is not an archive, or that is damaged."""
    # tarfile's message has a line for each kind of compression that it tried
    reason = str(error).partition("\n")[0]
    return DataMissing(f"{archive} cannot be read as an archive: {reason}")


def read_image(place: Path | Member) -> Image.Image:
    """An image in RGB; raises DataMissing."""
    source = BytesIO(place.read()) if isinstance(place, Member) else place
    try:
        with Image.open(source) as opened:
            return opened.convert("RGB")
    except OSError as error:
        raise DataMissing(f"{place} cannot be read as an image: {error}") from None
