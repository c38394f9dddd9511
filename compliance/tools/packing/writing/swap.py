"""One folder replaces another: killed at any moment, either the old or the new one is there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

_NOREPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTTY, errno.EOPNOTSUPP)

OLD = "old"
"""Name that the old tree has beside the new one while a pair of renames is under way."""


class _Renameat2(Protocol):
    def __call__(self, a: int, b: bytes, c: int, d: bytes, e: int, /) -> int: ...


@cache
def _renameat2() -> _Renameat2 | None:
    """The system call, where the C library has it."""
    import ctypes

    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    found.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    call: _Renameat2 = found
    return call


def _renamed(first: Path, second: Path, flags: int) -> bool:
    """Whether the system renamed with these flags; False where it knows no such thing."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), flags) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    # EINVAL is how a file system says that it does not know a flag
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def put_in_place(
    new: Path, target: Path, notify: Callable[[str], None], *, exchange: bool = True
) -> Path | None:
    """Give a new tree the target's name; returns where the old tree is now, if there was one.

    Where the system cannot exchange two names at once, the old tree is set aside first: `recover`
    puts it back if the second rename never came.
    """
    if not os.path.lexists(target):
        # A plain rename would replace an empty folder that has appeared meanwhile
        if not (exchange and _renamed(new, target, _NOREPLACE)):
            os.rename(new, target)
        return None
    # The only single step by which a folder with files replaces another
    if exchange and _renamed(new, target, _EXCHANGE):
        return new
    aside = new.parent / OLD
    os.rename(target, aside)
    notify("set aside")
    try:
        os.rename(new, target)
    except OSError:
        os.rename(aside, target)
        raise
    return aside


def recover(stage: Path, target: Path) -> bool:
    """Put the old tree back that a killed pair of renames has left in a stage."""
    # A target that is there is the new tree, or the old one put back already
    if os.path.lexists(target) or not os.path.lexists(stage / OLD):
        return False
    os.rename(stage / OLD, target)
    return True
