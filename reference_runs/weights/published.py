"""Weights in safetensors files, as models are released: one file, or several and their index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import DataMissing, LibraryMissing
from podium.reference_runs.weights.layout import IGNORED, source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from torch import Tensor

    from podium.reference_runs.weights.layout import Layout, Source

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class Published(Mapping[str, "Tensor"]):
    """A folder's tensors under a model's names; each is read on access.

    `names` are those of the model's tensors. Raises DataMissing if the folder does not match the
    layout, LibraryMissing without safetensors.
    """

    def __init__(self, folder: Path, layout: Layout, names: Iterable[str]) -> None:
        self.folder = folder
        self._files = _places(folder)
        self._open: dict[str, Any] = {}
        self._sources = {name: row for name in names if (row := source(layout, name)) is not None}
        self._check_complete()

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, name: str) -> Tensor:
        row = self._sources[name]
        self._check_joinable(row)
        return row.joined([self._file(tensor).get_tensor(tensor) for tensor in row.published])

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's shape, without reading its values."""
        row = self._sources[name]
        return row.shape(self._shapes(row))

    def _shapes(self, row: Source) -> list[tuple[int, ...]]:
        return [tuple(self._file(tensor).get_slice(tensor).get_shape()) for tensor in row.published]

    def _check_joinable(self, row: Source) -> None:
        """Raise DataMissing if the parts of one tensor have rows of different lengths."""
        if len({shape[1:] for shape in self._shapes(row)}) > 1:
            raise DataMissing(f"{self.folder}: {', '.join(row.published)} differ in row length")

    def _check_complete(self) -> None:
        used = {name for row in self._sources.values() for name in row.published}
        missing = sorted(used - {*self._files})
        if missing:
            raise DataMissing(f"{self.folder} has no tensor {missing[0]}")
        odd = sorted(name for name in {*self._files} - used if not IGNORED.search(name))
        if odd:
            raise DataMissing(f"{self.folder} has a tensor {odd[0]}, which is not in the model")

    def _file(self, tensor: str) -> Any:
        name = self._files[tensor]
        if name not in self._open:
            self._open[name] = _opened(self.folder / name)
        file = self._open[name]
        if tensor not in file.keys():  # noqa: SIM118 - a safetensors file is not a mapping
            raise DataMissing(f"{self.folder / name} has no tensor {tensor}, but {INDEX} lists it")
        return file


def _places(folder: Path) -> dict[str, str]:
    """The file of each tensor, by name, within the folder."""
    whole, index = folder / WHOLE, folder / INDEX
    if index.is_file():
        return _indexed(index)
    if not whole.is_file():
        raise DataMissing(f"{folder} contains neither {WHOLE} nor {INDEX}")
    return dict.fromkeys(_opened(whole).keys(), WHOLE)


def _indexed(index: Path) -> dict[str, str]:
    """The table of an index; its files must be in the same folder."""
    try:
        places = json.loads(index.read_bytes())["weight_map"]
        files = {str(name) for name in places.values()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise DataMissing(f"{index}: expected a weight_map, from tensors to files") from None
    for name in sorted(files):
        # A name with a path in it could lead out of the folder
        if "/" in name or "\\" in name or not (index.parent / name).is_file():
            raise DataMissing(f"{index} names {name}, which is not a file in its folder")
    return {str(tensor): str(name) for tensor, name in places.items()}


def _opened(path: Path) -> Any:
    """A file's tensors, memory-mapped; raises DataMissing if it is damaged."""
    try:
        library = import_module("safetensors")
    except ModuleNotFoundError:
        raise LibraryMissing(
            f"{path} needs safetensors, which is not installed: pip install safetensors"
        ) from None
    try:
        return library.safe_open(path, framework="pt", device="cpu")
    except (OSError, library.SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} cannot be read as safetensors: {reason}") from None
