"""Unpacking of ImageNet's two published archives into a folder for each class."""

from __future__ import annotations

import re
import tarfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from podium.reference_runs.datasets.archives import members, unreadable
from podium.reference_runs.datasets.prepare import Piece, Recipe
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

TRAINING, VALIDATION = "ILSVRC2012_img_train.tar", "ILSVRC2012_img_val.tar"
LABELS = "imagenet_2012_validation_synset_labels.txt"
"""The class of each validation image, one per line, in the order of the images' names."""
CLASS = re.compile(r"n\d{8}")
IMAGE = re.compile(r"[\w-]+\.JPEG")


class Archive(NamedTuple):
    """A class's archive within the archive of the training images."""

    path: Path
    name: str
    begin: int
    """Its offset in bytes."""


def recipe(name: str, source: Path, tokenizer: Path | None, *, subset: bool) -> Recipe:  # noqa: ARG001
    """The recipe for unpacking the archives; raises DataMissing.

    source: a folder with both archives and the classes of the validation images.
    """
    for needed in (TRAINING, VALIDATION, LABELS):
        if not (source / needed).is_file():
            raise DataMissing(f"{source / needed} is missing")
    pieces = [
        Piece(f"train-{archive.name}", partial(unpack, archive)) for archive in _archives(source)
    ]
    if not pieces:
        raise DataMissing(f"{source / TRAINING} has no archive of a class, such as n01440764.tar")
    pieces.append(Piece("val", partial(unpack_validation, source)))
    return Recipe(pieces, f"{name} of {source.absolute()}, {len(pieces)} pieces")


def _archives(source: Path) -> Iterator[Archive]:
    for member in members(source / TRAINING):
        name = member.name.removesuffix(".tar")
        if CLASS.fullmatch(name):
            yield Archive(member.archive, name, member.begin)


def unpack(archive: Archive, folder: Path) -> None:
    """Write the images of a class; raises DataMissing."""
    target = folder / "train" / archive.name
    target.mkdir(parents=True)
    with archive.path.open("rb") as stream:
        stream.seek(archive.begin)
        for name, image in _images(archive.path, stream):
            _write(image, target / name)


def unpack_validation(source: Path, folder: Path) -> None:
    """Write the validation images into folders of their classes; raises DataMissing."""
    path, labels = source / VALIDATION, source / LABELS
    classes = labels.read_text(encoding="ascii", errors="replace").split()
    wrong = [name for name in classes if not CLASS.fullmatch(name)]
    if wrong:
        raise DataMissing(f"{labels} contains {wrong[0]!r}; expected classes such as n01440764")
    flat = folder / "flat"
    flat.mkdir()
    with path.open("rb") as stream:
        for name, image in _images(path, stream):
            _write(image, flat / name)
    images = sorted(flat.iterdir())
    if len(images) != len(classes):
        raise DataMissing(f"{path} has {len(images)} images; {labels.name} has {len(classes)}")
    for flat_image, name in zip(images, classes, strict=True):
        target = folder / "val" / name
        target.mkdir(parents=True, exist_ok=True)
        flat_image.rename(target / flat_image.name)
    flat.rmdir()


def _images(path: Path, stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's images, without the folders in the names."""
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                content = archive.extractfile(member)
                if content is not None and IMAGE.fullmatch(name):
                    yield name, content.read()
    except (OSError, tarfile.TarError) as error:
        raise unreadable(path, error) from None


def _write(content: bytes, path: Path) -> None:
    with path.open("xb") as stream:
        stream.write(content)
