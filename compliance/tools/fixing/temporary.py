"""Files that systems and editors leave behind in a tree, and permissions that prevent reading."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from podium.compliance.files.atomic import usual_mode
from podium.compliance.judging.inputs.layout import is_log
from podium.compliance.judging.inputs.listing import Disk, Item, ItemKind
from podium.compliance.judging.inputs.source_files import CODE_FOLDERS, open_plain
from podium.compliance.tools.fixing.change import Action, FileChange, ManualFix, Plan

_OF_SYSTEMS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", ".directory"})

_OF_EDITORS = (
    re.compile(r"(?P<file>.+)~"),
    re.compile(r"\.(?P<file>.+)\.sw[a-p]"),
    re.compile(r"#(?P<file>.+)#"),
    re.compile(r"\.#(?P<file>.+)"),
    re.compile(r"\._(?P<file>.+)"),
)
"""Names of temporary copies, with the name of the original file."""

_SCRIPTS = (".sh", ".bash")


def temporary_files(disk: Disk, scope: str) -> Iterator[Plan]:
    """Junk to remove and permissions to set, in the full tree or in one of its folders."""
    for path, folder in disk.walk(scope):
        if folder.problem:
            if not folder.there:
                continue
            yield _opened(disk, path) or ManualFix(
                path or ".", f"it cannot be read: {folder.problem}"
            )
        names = {item.name for item in folder.items}
        for item in folder.items:
            yield from _item(item, names)


def _item(item: Item, names: set[str]) -> Iterator[FileChange]:
    junk = _junk(item, names)
    if junk:
        yield FileChange(Action.REMOVE, item.path, (junk,))
    elif item.kind is ItemKind.FILE:
        yield from _mode(item)


def _junk(item: Item, names: set[str]) -> str:
    """The reason why a file is junk; empty if it may be somebody's work."""
    if item.kind not in (ItemKind.FILE, ItemKind.LINK) or is_log(item.name):
        return ""
    if item.name in _OF_SYSTEMS and item.kind is ItemKind.FILE:
        return "a file of a file manager"
    for pattern in _OF_EDITORS:
        match = pattern.fullmatch(item.name)
        # Without the original file, this may be its only copy
        if match and match["file"] in names:
            return f"a temporary copy of {match['file']}"
    return ""


def _opened(disk: Disk, path: str) -> FileChange | None:
    """The permission change for a folder that cannot be listed."""
    full = os.path.join(disk.root, path) if path else str(disk.root)
    try:
        status = os.lstat(full)
    except OSError:
        return None
    mode = stat.S_IMODE(status.st_mode)
    new_mode = mode | usual_mode(0o555)
    if not stat.S_ISDIR(status.st_mode) or mode == new_mode:
        return None
    return FileChange(Action.MODE, path, ("the folder cannot be listed",), modes=(mode, new_mode))


def _mode(item: Item) -> Iterator[FileChange]:
    try:
        mode = stat.S_IMODE(os.lstat(item.full).st_mode)
    except OSError:
        return
    new_mode, reasons = mode, []
    if not mode & stat.S_IRUSR:
        new_mode |= usual_mode(0o444)
        reasons.append("the file is not readable")
    if _is_script(item) and not mode & stat.S_IXUSR:
        # Everyone with read permission gets execute permission
        new_mode |= (new_mode & 0o444) >> 2
        reasons.append("the script is not executable")
    if reasons:
        yield FileChange(Action.MODE, item.path, tuple(reasons), modes=(mode, new_mode))


def _is_script(item: Item) -> bool:
    """Whether a file of the code is a shell script with a shebang line."""
    if item.path.partition("/")[0] not in CODE_FOLDERS or not item.name.endswith(_SCRIPTS):
        return False
    # Published submissions have config_<system>.sh, which other scripts read with `source`
    if item.name.startswith("config"):
        return False
    try:
        with open_plain(item.full) as stream:
            return stream.read(2) == b"#!"
    except OSError:
        return False
