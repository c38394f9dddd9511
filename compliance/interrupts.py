"""Ctrl-C at any moment of the command: one line and status 130, never a traceback.

Until a command works there is nothing to clean up, and an exception may come up in the middle of an
import: the process ends at once. A command that works gets a KeyboardInterrupt, so that it removes
what it has half written; a second Ctrl-C ends it at once all the same.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

from podium.compliance.exit_codes import Exit

TYPE_CHECKING = False
if TYPE_CHECKING:  # this is loaded before all else: typing takes longer than the rest
    from types import FrameType

LINE = b"podium: interrupted\n"


def take_over() -> None:
    """Let an interrupt end the process from now on: for the command only, not where it is imported.

    A shell that ignores interrupts for what runs in the background, and a handler that somebody
    else has set, are left alone.
    """
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _raise):
        signal.signal(signal.SIGINT, _end)
        sys.unraisablehook = _unraisable
        # What is registered first is called last
        atexit.register(_leave)


def raise_once() -> None:
    """Let the next interrupt raise KeyboardInterrupt, and one after it end the process."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _raise)


def end_at_once() -> None:
    """Let the next interrupt end the process: for a command that has nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _end)


def raise_always() -> None:
    """Let each interrupt raise KeyboardInterrupt, as Python has it."""
    if signal.getsignal(signal.SIGINT) in (_end, _raise):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore(status: int) -> None:
    """Let no interrupt change anything any more: the work is done, and this is its status."""
    global _status
    _status = status
    if signal.getsignal(signal.SIGINT) in (_end, _raise):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def was_raised() -> bool:
    """Whether a KeyboardInterrupt came up: some libraries make another error of it."""
    return _raised


_status, _raised = 0, False


def _leave() -> None:
    # Where an interrupt came up in an `exec`, as dataclasses are made by, Python would end by the
    # signal, whatever its status
    if _status == Exit.INTERRUPTED:
        os._exit(_status)


def _end(_number: int = 0, _frame: FrameType | None = None) -> None:
    try:
        os.write(2, LINE)
    finally:
        os._exit(Exit.INTERRUPTED)


def _raise(_number: int, _frame: FrameType | None) -> None:
    global _raised
    _raised = True
    signal.signal(signal.SIGINT, _end)
    raise KeyboardInterrupt


def _unraisable(event: sys.UnraisableHookArgs) -> None:
    # Raised in a finalizer, an interrupt would be printed and forgotten
    if event.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(event)
