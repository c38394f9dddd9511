"""Applies the edits of rule examples to a submission on disk: see rules/fixed/edits.py."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from podium.rules.fixed.edits import Edit

TOKEN = ":::MLLOG "

Fields = dict[str, Any]


def apply(root: Path, edits: Iterable[Edit]) -> Path:
    """Apply edits to the submission at `root`, in order; raises KeyError for an unknown verb."""
    for edit in edits:
        _VERBS[edit.verb](root, edit)
    return root


def _remove(root: Path, edit: Edit) -> None:
    path = root / edit.path
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _write(root: Path, edit: Edit) -> None:
    _free(root / edit.path, root).write_text(edit.value, encoding="utf-8")


def _rename(root: Path, edit: Edit) -> None:
    source = root / edit.path
    source.rename(_free(root / edit.value, root))


def _copy(root: Path, edit: Edit) -> None:
    shutil.copyfile(root / edit.path, _free(root / edit.value, root))


def _link(root: Path, edit: Edit) -> None:
    _free(root / edit.path, root).symlink_to(edit.value)


def _append(root: Path, edit: Edit) -> None:
    with (root / edit.path).open("a", encoding="utf-8") as file:
        file.write(f"{edit.value}\n")


def _set(root: Path, edit: Edit) -> None:
    name, value = edit.value

    def change(record: Fields) -> Fields | None:
        return record | {"value": value} if record["key"] == name else record

    if edit.path.endswith(".json"):
        _change_document(root / edit.path, lambda fields: fields | {name: value})
    else:
        _change_log(root / edit.path, change)


def _drop(root: Path, edit: Edit) -> None:
    def without(fields: Fields) -> Fields:
        return {name: value for name, value in fields.items() if name != edit.value}

    if edit.path.endswith(".json"):
        _change_document(root / edit.path, without)
    else:
        _change_log(root / edit.path, lambda r: None if r["key"] == edit.value else r)


def _change_document(path: Path, change: Callable[[Fields], Fields]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text())), indent=1))


def _change_log(path: Path, change: Callable[[Fields], Fields | None]) -> None:
    lines, changed = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith(TOKEN):
            lines.append(line)
            continue
        record = json.loads(line.removeprefix(TOKEN))
        new = change(record)
        changed = changed or new != record
        lines += [] if new is None else [TOKEN + json.dumps(new)]
    assert changed, f"the edit changes nothing of {path.name}"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _free(path: Path, root: Path) -> Path:
    """Create the folders above a path, and remove files that are in the way."""
    for each in (path, *path.parents):
        if each == root:
            break
        if each.is_symlink() or each.is_file():
            each.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


_VERBS: dict[str, Callable[[Path, Edit], None]] = {
    "remove": _remove,
    "write": _write,
    "rename": _rename,
    "copy": _copy,
    "link": _link,
    "append": _append,
    "set": _set,
    "drop": _drop,
}
