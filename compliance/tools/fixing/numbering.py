"""Logs renamed to result_0.txt and so on, in their order; their power folders with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from podium.compliance.judging.inputs.layout import (
    POWER,
    RESULT_NAME,
    ResultFolder,
    Tree,
    is_log,
    natural,
)
from podium.compliance.judging.inputs.listing import Disk, Item, ItemKind
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.waivers.waivers import LARGEST_FILE, WAIVERS_FILE
from podium.compliance.tools.fixing.change import Action, FileChange, ManualFix, Plan

_ALMOST = re.compile(r"result[ ._-]*(\d+)(?:\.(?:txt|log|out))*", re.IGNORECASE)
"""Names that people give to logs in the place of result_<i>.txt."""

_MARK, _HEAD = b":::MLL", 1 << 20

_OWN = "logs are called result_<i>.txt"
_COUNT = "runs are numbered from 0 without gaps"


def renames(tree: Tree) -> Iterator[Plan]:
    """The renames in every result's folder."""
    waivers = _text(tree.root / WAIVERS_FILE)
    for folder in tree.results:
        planned = [*_of_result(tree, folder)]
        named = next((one.path for one in planned if one.path in waivers), "")
        if named:
            reason = f"{WAIVERS_FILE} names it; number the logs by hand, and correct that file"
            planned = [ManualFix(named, reason)]
        yield from planned


def _of_result(tree: Tree, folder: ResultFolder) -> Iterator[Plan]:
    items = {item.name: item for item in tree.disk.folder(folder.path).items}
    sources = {path.rpartition("/")[2]: path.rpartition("/")[2] for path in folder.logs}
    for item in items.values():
        wanted = _meant(item)
        if wanted in items or wanted in sources:
            yield ManualFix(item.path, f"it holds a log, and {wanted} is there already")
        elif wanted:
            sources[wanted] = item.name
    order = natural(sources)
    targets = [f"result_{number}.txt" for number in range(len(order))]
    # Those with leading zeros are numbered as well as those without
    if _numbered(order):
        targets = order
    moved = {
        sources[name]: to for name, to in zip(order, targets, strict=True) if sources[name] != to
    }
    for name, to in moved.items():
        if name in items and items[name].kind is ItemKind.FOLDER:
            yield ManualFix(items[name].path, "a folder is called like a log; move it away")
            return
        if to in items and to not in moved:
            yield ManualFix(items[name].path, f"{to} is in its way")
            return
    yield from _changes(tree.disk, folder, moved)


def _changes(disk: Disk, folder: ResultFolder, moved: dict[str, str]) -> Iterator[FileChange]:
    powered = {item.name for item in disk.folder(f"{folder.path}/{POWER}").items}
    for name, to in moved.items():
        why = (_COUNT if RESULT_NAME.fullmatch(name) else _OWN,)
        yield FileChange(Action.RENAME, f"{folder.path}/{name}", why, f"{folder.path}/{to}")
        stem = name.removesuffix(".txt")
        # The measurements of a run lie in a folder of its name
        if folder.power and stem in powered:
            base = f"{folder.path}/{POWER}"
            why = (f"it holds the measurements of {name}",)
            target = f"{base}/{to.removesuffix('.txt')}"
            yield FileChange(Action.RENAME, f"{base}/{stem}", why, target)


def _numbered(names: list[str]) -> bool:
    """Whether logs have names and numbers that no rule finds fault with."""
    matches = [RESULT_NAME.fullmatch(name) for name in names]
    numbers = sorted(int(match[1]) for match in matches if match)
    return numbers == list(range(len(names)))


def _meant(item: Item) -> str:
    """The name that a log under another name was probably to have; empty for any other file."""
    match = None if is_log(item.name) else _ALMOST.fullmatch(item.name)
    if match is None or item.kind is not ItemKind.FILE:
        return ""
    try:
        with open_plain(item.full) as stream:
            return f"result_{int(match[1])}.txt" if _MARK in stream.read(_HEAD) else ""
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        with open_plain(path) as stream:
            return stream.read(LARGEST_FILE).decode(errors="replace")
    except OSError:
        return ""
