"""Rules' examples applied: the complete submission, edited on disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from podium.rules.fixed.edits import Edit


def apply(root: Path, edits: tuple[Edit, ...]) -> None:
    """Edit the submission in a folder."""
    for edit in edits:
        _apply(root, edit)


def _apply(root: Path, edit: Edit) -> None:
    path = root / edit.path
    match edit.verb:
        case "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(edit.value, encoding="utf-8")
        case "rename":
            (root / edit.value).parent.mkdir(parents=True, exist_ok=True)
            path.rename(root / edit.value)
        case "copy":
            shutil.copy2(path, root / edit.value)
        case "link":
            path.unlink(missing_ok=True)
            path.symlink_to(edit.value)
        case "set":
            _change(path, *edit.value)
        case "drop":
            _change(path, edit.value, ...)
        case _:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _change(path: Path, name: str, value: Any) -> None:
    """Set a field of a JSON document, or a key of a log; ... drops it."""
    if path.suffix == ".json":
        fields = json.loads(path.read_text())
        fields.pop(name, None) if value is ... else fields.update({name: value})
        path.write_text(json.dumps(fields, indent=1))
        return
    lines = []
    for line in path.read_text().splitlines(keepends=True):
        token, _, body = line.partition(" ")
        record = json.loads(body) if token == ":::MLLOG" else {}
        if record.get("key") != name:
            lines.append(line)
        elif value is not ...:
            lines.append(f"{token} {json.dumps(record | {'value': value})}\n")
    path.write_text("".join(lines))
