"""Rename logs to result_0.txt and so on, in their order, together with their power folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from podium.compliance.judging.inputs.layout import (
    POWER,
    RESULT_NAME,
    ResultFolder,
    Tree,
    natural,
)
from podium.compliance.judging.inputs.listing import ItemKind
from podium.compliance.judging.inputs.log_names import LOG_SUFFIX, is_compressed, placed
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.waivers.waivers import LARGEST_FILE, WAIVERS_FILE
from podium.compliance.tools.fixing.change import Action, FileChange, ManualFix, Plan
from podium.rules.model.round import Round

_OWN = "logs must be named result_<i>.txt"
_COUNT = "runs must be numbered from 0 without gaps"


def renames(tree: Tree, rules: Round) -> Iterator[Plan]:
    """The renames in all result folders."""
    waivers = _text(tree.root / WAIVERS_FILE)
    for folder in tree.results:
        planned = [*_of_result(tree, folder, rules)]
        waived = next((change.path for change in planned if change.path in waivers), "")
        if waived:
            reason = f"{WAIVERS_FILE} names it; number the logs by hand, and update that file"
            planned = [ManualFix(waived, reason)]
        yield from planned


def _of_result(tree: Tree, folder: ResultFolder, rules: Round) -> Iterator[Plan]:
    items = {item.name: item for item in tree.disk.folder(folder.path).items}
    logs = [path.rpartition("/")[2] for path in folder.logs]
    needed = None if folder.scaling == "weak" else rules.benchmark(folder.benchmark).runs
    placing = placed(logs, folder.misnamed, needed)
    yield from (ManualFix(f"{folder.path}/{name}", reason) for name, reason in placing.left.items())
    sources = {name: name for name in logs} | {to: name for name, to in placing.names.items()}
    order = natural(sources)
    targets = [f"result_{number}.txt" for number in range(len(order))]
    # Numbers may have leading zeros. While a log has no number, a gap may belong to it
    if placing.left or _numbered(order):
        targets = order
    moved = {
        sources[name]: to for name, to in zip(order, targets, strict=True) if sources[name] != to
    }
    for name, to in moved.items():
        if name in items and items[name].kind is ItemKind.FOLDER:
            yield ManualFix(items[name].path, "a folder has the name of a log; move it away")
            return
        if to in items and to not in moved:
            yield ManualFix(items[name].path, f"{to} already exists")
            return
    yield from _changes(tree, folder, moved)


def _changes(tree: Tree, folder: ResultFolder, moved: dict[str, str]) -> Iterator[FileChange]:
    powered = {item.name for item in tree.disk.folder(f"{folder.path}/{POWER}").items}
    for name, to in moved.items():
        reasons = (_COUNT if RESULT_NAME.fullmatch(name) else _OWN,)
        compressed = name in folder.misnamed and is_compressed(tree.root / folder.path / name)
        action = Action.DECOMPRESS if compressed else Action.RENAME
        yield FileChange(action, f"{folder.path}/{name}", reasons, f"{folder.path}/{to}")
        stem = LOG_SUFFIX.sub("", name)
        # The measurements of a run are in a folder with the name of the run
        if folder.power and stem in powered:
            base = f"{folder.path}/{POWER}"
            reasons = (f"it has the measurements of {name}",)
            target = f"{base}/{to.removesuffix('.txt')}"
            yield FileChange(Action.RENAME, f"{base}/{stem}", reasons, target)


def _numbered(names: list[str]) -> bool:
    """Whether the names and numbers of the logs satisfy all rules."""
    matches = [RESULT_NAME.fullmatch(name) for name in names]
    numbers = sorted(int(match[1]) for match in matches if match)
    return numbers == list(range(len(names)))


def _text(path: Path) -> str:
    try:
        with open_plain(path) as stream:
            return stream.read(LARGEST_FILE).decode(errors="replace")
    except OSError:
        return ""
