"""The system calls that podium uses for files, with a listener in between.

with watched(root, listener):   # listener.before(call) may raise, or shorten a write
    ...                         # listener.after(call) is called after each call

Only calls below `root` are watched: Python's own files are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from podium.compliance.tools.packing.writing import write

BY_PATH = ("open", "mkdir", "rmdir", "unlink", "chmod", "symlink", "rename", "replace", "scandir")
BY_HANDLE = ("read", "readv", "preadv", "write", "fsync", "fstat", "copy_file_range")


@dataclass
class Call:
    """One call: its name, the file or folder, and the other path of a rename.

    `existed` is whether there was something at the (other) path before. A listener that sets `most`
    limits the number of bytes of a write.
    """

    name: str
    path: str
    other: str = ""
    existed: bool = False
    most: int | None = None
    handle: int = -1


class Listener:
    """Does nothing."""

    def before(self, call: Call) -> None:
        """Called before each call; may raise an error of the system."""

    def after(self, call: Call) -> None:
        """Called after each call that succeeded."""


def _at(path: Any, folder: int | None) -> str:
    """The absolute path of an argument, which may be a descriptor or relative to a descriptor."""
    if isinstance(path, int):
        return os.readlink(f"/proc/self/fd/{path}")
    text = os.fsdecode(path)
    if folder is not None:
        text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
    return os.path.abspath(text)


def _call(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Call:
    if name in BY_HANDLE:
        handle = args[1] if name == "copy_file_range" else args[0]
        return Call(name, _at(handle, None), handle=handle)
    if name in ("rename", "replace", "_renamed"):
        other = _at(args[1], None)
        return Call(name, _at(args[0], None), other, os.path.lexists(other))
    path = args[1] if name == "symlink" else args[0] if args else "."
    where = _at(path, options.get("dir_fd"))
    return Call(name, where, existed=os.path.lexists(where))


def _stand_in(name: str, real: Callable[..., Any], root: str, listener: Listener) -> Any:
    def stand_in(*args: Any, **options: Any) -> Any:
        try:
            call = _call(name, args, options)
        except OSError:
            return real(*args, **options)
        if not f"{call.path}/".startswith(f"{root}/"):
            return real(*args, **options)
        listener.before(call)
        if call.most is not None:
            args = (args[0], bytes(args[1])[: call.most])
        result = real(*args, **options)
        # A rename that the system does not support is not a call
        if name != "_renamed" or result:
            listener.after(call)
        return result

    return stand_in


@contextmanager
def watched(root: Path, listener: Listener) -> Iterator[None]:
    """Call a listener before and after the system calls of this process."""
    with ExitStack() as stack:
        for name in (*BY_PATH, *BY_HANDLE):
            made = _stand_in(name, getattr(os, name), str(root.resolve()), listener)
            stack.enter_context(mock.patch.object(os, name, made))
        made = _stand_in("_renamed", write._renamed, str(root.resolve()), listener)
        stack.enter_context(mock.patch.object(write, "_renamed", made))
        yield
