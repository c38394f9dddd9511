"""Ctrl-C at any moment of the command: one line and status 130, never a traceback.

Before a command runs there is nothing to clean up, and an exception may occur in the middle of an
import, so the process ends at once. A running command gets a KeyboardInterrupt, so that it removes
partial files; a second Ctrl-C ends it at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys

from podium.compliance.exit_codes import Exit

TYPE_CHECKING = False
if TYPE_CHECKING:  # this module is loaded first, and typing takes longer than the rest
    from types import FrameType

LINE = b"podium: interrupted\n"


def take_over() -> None:
    """Let an interrupt end the process from now on; only for the command, not for importers.

    Interrupts that a shell ignores for background processes stay ignored, and the handler of other
    code is kept.
    """
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _raise):
        signal.signal(signal.SIGINT, _end)
        sys.unraisablehook = _unraisable
        # The first registered handler is called last
        atexit.register(_leave)


def raise_once() -> None:
    """Let the next interrupt raise KeyboardInterrupt, and the one after it end the process."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _raise)


def end_at_once() -> None:
    """Let the next interrupt end the process, for a command without cleanup."""
    if signal.getsignal(signal.SIGINT) is _raise:
        signal.signal(signal.SIGINT, _end)


def raise_always() -> None:
    """Let each interrupt raise KeyboardInterrupt, as by default in Python."""
    if signal.getsignal(signal.SIGINT) in (_end, _raise):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore(status: int) -> None:
    """Ignore further interrupts: the work is done, with this status."""
    global _status
    _status = status
    if signal.getsignal(signal.SIGINT) in (_end, _raise):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def was_raised() -> bool:
    """Whether a KeyboardInterrupt occurred: some libraries turn it into another error."""
    return _raised


_status, _raised = 0, False


def _leave() -> None:
    # After an interrupt in an `exec`, which dataclasses use, Python would end by the signal,
    # regardless of the status
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
    # An interrupt that is raised in a finalizer would be printed and ignored
    if event.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(event)
