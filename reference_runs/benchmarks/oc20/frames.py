"""Structures in files of extended XYZ, as Open Catalyst 2020 is published: read and written.

A file contains thousands of structures; a list next to it, *.txt, has a line for each. Format: the
ASE manual on `extxyz`, and the dataset's documentation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

_SYMBOLS = (
    "X H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se"
    " Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy"
    " Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu"
)
SYMBOLS = tuple(_SYMBOLS.split())
"""Symbols of the elements, by atomic number."""
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS)}


class Structure(NamedTuple):
    """Atoms in a periodic cell: positions in Å, forces in eV/Å."""

    species: NDArray[np.int64]
    positions: NDArray[np.float64]
    forces: NDArray[np.float64]
    free: NDArray[np.bool_]
    """Atoms that may move: the others are excluded from the loss and the quality."""
    cell: NDArray[np.float64]


class Frames:
    """The structures of all files of a folder; offsets are found when a file is first used."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.extxyz"))
        counts = [_listed(path.with_suffix(".txt")) for path in self.files]
        self._ends = np.cumsum(counts, dtype=np.int64)
        self._begins: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return int(self._ends[-1]) if self.files else 0

    def __getitem__(self, index: int) -> Structure:
        """A structure; raises DataMissing if its file does not contain it."""
        which = int(np.searchsorted(self._ends, index, side="right"))
        number = index - (int(self._ends[which - 1]) if which else 0)
        path = self.files[which]
        try:
            if which not in self._begins:
                self._begins[which] = _begins(path)
            begins = self._begins[which]
            with path.open("rb") as file:
                file.seek(begins[number])
                return parsed(file.read(begins[number + 1] - begins[number]).decode())
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise DataMissing(
                f"{path} cannot be read: structure {number} is not an extended XYZ with the cell,"
                f" species, pos, forces and move_mask or tags: {error!r}"
            ) from None


def _listed(path: Path) -> int:
    """Number of lines of a list of structures."""
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if line.strip())
    except OSError as error:
        raise DataMissing(f"{path} cannot be read: {error.strerror}") from None


def _begins(path: Path) -> list[int]:
    """The byte offsets of the structures, and the end of the file."""
    begins = [0]
    with path.open("rb") as file:
        while line := file.readline():
            size = len(line) + sum(len(file.readline()) for _ in range(int(line) + 1))
            begins.append(begins[-1] + size)
    return begins


_LATTICE = re.compile(r'Lattice="([^"]*)"')
_PROPERTIES = re.compile(r"Properties=(\S+)")


def parsed(text: str) -> Structure:
    """One structure; raises ValueError, LookupError or TypeError if it is invalid."""
    count, comment, *rows = text.splitlines()
    lattice, properties = _LATTICE.search(comment), _PROPERTIES.search(comment)
    if lattice is None or properties is None or len(rows) != int(count) or not rows:
        raise ValueError("a line is missing")
    table = np.array([row.split() for row in rows])
    columns: dict[str, Any] = {}
    begin = 0
    names = properties[1].split(":")
    for name, width in zip(names[::3], names[2::3], strict=True):
        columns[name] = table[:, begin : begin + int(width)]
        begin += int(width)
    free = (
        np.isin(columns["move_mask"][:, 0], ("T", "True", "1"))
        if "move_mask" in columns
        else columns["tags"][:, 0].astype(int) > 0  # 0 marks atoms below the surface
    )
    cell = np.array(lattice[1].split(), np.float64).reshape(3, 3)
    positions, forces = (columns[name].astype(np.float64) for name in ("pos", "forces"))
    if not (np.isfinite(positions).all() and np.isfinite(forces).all() and np.linalg.det(cell)):
        raise ValueError("a number is not finite, or the cell has no volume")
    species = np.array([NUMBERS[symbol] for symbol in columns["species"][:, 0]], np.int64)
    return Structure(species, positions.reshape(-1, 3), forces.reshape(-1, 3), free, cell)


def write(path: Path, structures: Iterable[Structure]) -> None:
    """Write structures as a file, and its list next to it."""
    with path.open("w") as file, path.with_suffix(".txt").open("w") as listed:
        for number, structure in enumerate(structures):
            cell = " ".join(f"{value:.8f}" for value in structure.cell.ravel())
            columns = "species:S:1:pos:R:3:move_mask:L:1:forces:R:3"
            file.write(
                f'{len(structure.species)}\nLattice="{cell}" Properties={columns} pbc="T T T"\n'
            )
            for species, place, free, force in zip(*_rows(structure), strict=True):
                numbers = (" ".join(f"{value:.8f}" for value in part) for part in (place, force))
                place_text, force_text = numbers
                file.write(f"{SYMBOLS[species]} {place_text} {'T' if free else 'F'} {force_text}\n")
            listed.write(f"made{number},frame0,0.0\n")


def _rows(structure: Structure) -> tuple[NDArray[Any], ...]:
    return structure.species, structure.positions, structure.free, structure.forces
