"""Where findings are, in few words: files whose names differ in a number or a folder as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

MOST = 3
"""Patterns up to which places are named exactly; where there are more, stars join them."""

_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_NUMBER = re.compile("[0-9]+")


class Place(msgspec.Struct, frozen=True):
    """Files or folders, and the pattern that names them: not empty, in the order they came.

    Braces in a pattern name files of the place only; a star may stand for others as well.
    """

    pattern: str
    paths: tuple[str, ...]


def places_of(paths: Iterable[str], most: int = MOST) -> list[Place]:
    """The places of some paths, those of most files first; each path is in exactly one."""
    names = list(dict.fromkeys(paths))
    places = _across_folders(_in_folders(names))
    if len(places) > most:
        places = _joined(places)
    return sorted(places, key=lambda place: -len(place.paths))


def _in_folders(paths: Iterable[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Folder, pattern of names and paths, of what differs in the last number of its name only."""
    alike: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        numbered = _NUMBERED.fullmatch(name)
        before, number, after = numbered.groups() if numbered else (name, "", "")
        alike.setdefault((folder + slash, before, after), []).append((number, path))
    return [
        (folder, f"{before}{_ranges([number for number, _ in found])}{after}", _paths(found))
        for (folder, before, after), found in alike.items()
    ]


def _paths(found: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(path for _, path in found)


def _ranges(numbers: Sequence[str]) -> str:
    """Numbers as they stand in names: 7, or {0..4,7}."""
    if len(numbers) == 1:
        return numbers[0]
    runs: list[list[str]] = []
    for number in sorted(numbers, key=lambda text: (int(text or -1), text)):
        if runs and number == _next(runs[-1][-1]):
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        f"{run[0]}..{run[-1]}" if len(run) > 2 else ",".join(run)  # a pair is no shorter as a range
        for run in runs
    ]
    return "{" + ",".join(parts) + "}"


def _next(number: str) -> str:
    return str(int(number) + 1).zfill(len(number)) if number else ""


def _across_folders(found: Iterable[tuple[str, str, tuple[str, ...]]]) -> list[Place]:
    """Join folders of one depth in which the same names are."""
    alike: dict[tuple[int, str], list[tuple[list[str], tuple[str, ...]]]] = {}
    for folder, name, paths in found:
        parts = folder.split("/")
        alike.setdefault((len(parts), name), []).append((parts, paths))
    return [
        Place(
            _folders([parts for parts, _ in same]) + name,
            tuple(path for _, paths in same for path in paths),
        )
        for (_, name), same in alike.items()
    ]


def _folders(folders: Sequence[Sequence[str]]) -> str:
    """One pattern for folders of one depth: {a,b} where two differ in one part, else a star."""
    columns = [list(dict.fromkeys(column)) for column in zip(*folders, strict=True)]
    few = sum(len(column) > 1 for column in columns) == 1 and len(folders) == 2
    return "/".join(
        column[0] if len(column) == 1 else "{" + ",".join(column) + "}" if few else "*"
        for column in columns
    )


def _joined(places: Sequence[Place]) -> list[Place]:
    """Places of one depth whose names differ in numbers only, as one with a star for these."""
    alike: dict[tuple[int, str], list[Place]] = {}
    for place in places:
        *folders, name = place.paths[0].split("/")
        alike.setdefault((len(folders), _NUMBER.sub("*", name)), []).append(place)
    return [
        same[0] if len(same) == 1 else _starred([path for place in same for path in place.paths])
        for same in alike.values()
    ]


def _starred(paths: Sequence[str]) -> Place:
    *folders, names = [set(part) for part in zip(*(path.split("/") for path in paths), strict=True)]
    parts = [min(part) if len(part) == 1 else "*" for part in folders]
    name = min(names)
    return Place(
        "/".join([*parts, name if len(names) == 1 else _NUMBER.sub("*", name)]), tuple(paths)
    )
