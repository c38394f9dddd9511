"""Processes and threads that write to one file take turns, so that lines do not mix."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

PATIENCE_S: Final = 30.0
"""Seconds that a writer waits for its turn; then it writes anyway."""

_LONGEST_NAP_S: Final = 0.005


class _File:
    """State that all turns of this process at one file share."""

    __slots__ = ("__weakref__", "depth", "lock", "locked")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0  # how often the thread with the turn has entered it
        self.locked = False


_files: weakref.WeakValueDictionary[tuple[int, int], _File] = weakref.WeakValueDictionary()
"""By device and inode: a system lock belongs to a process, whatever the descriptor."""


def turn_at(fd: int | None) -> AbstractContextManager[object]:
    """Context manager: no other writer that takes turns writes to the descriptor's file or pipe.

    For a terminal or a device, and without a descriptor, only threads of one writer take turns.
    """
    try:
        status = os.fstat(-1 if fd is None else fd)
    except OSError:
        return threading.RLock()
    if fd is None or not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        return threading.RLock()
    return Turn(fd, _files.setdefault((status.st_dev, status.st_ino), _File()))


class Turn:
    """Turns among processes and threads; a killed process loses its turn at once.

    If the file system has no locks, only the threads of this process take turns.
    """

    def __init__(self, fd: int, file: _File) -> None:
        self._fd, self._file = fd, file
        self._lockable, self._patience = True, PATIENCE_S

    def close(self) -> None:
        """Close the descriptor when no thread of this process writes to the file.

        Closing any descriptor of a file releases the lock of the process on it.
        """
        with self._file.lock:
            os.close(self._fd)

    def __enter__(self) -> None:
        file = self._file
        file.lock.acquire()
        entered = False
        try:
            # A signal handler may log in the middle of a line: this thread already has the turn
            if not file.depth and self._lockable:
                file.locked = self._locked()
            file.depth += 1
            entered = True
        finally:
            if not entered:  # interrupted while waiting
                file.lock.release()

    def __exit__(self, *_: object) -> None:
        file = self._file
        file.depth -= 1
        try:
            if not file.depth and file.locked:
                file.locked = False
                fcntl.lockf(self._fd, fcntl.LOCK_UN)
        except OSError:  # the lock of a network file system is gone
            pass
        finally:
            file.lock.release()

    def _locked(self) -> bool:
        # A lock of the process, not of the descriptor, which a forked process shares
        delay, end = 1e-5, 0.0
        while True:
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno == errno.EINTR:
                    continue
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    self._lockable = False
                    return False
            else:
                self._patience = PATIENCE_S
                return True
            now = time.monotonic()
            end = end or now + self._patience
            if now > end:
                # The holder is stopped. Training must not wait this long for every line
                self._patience = 0.0
                return False
            time.sleep(delay)
            delay = min(2 * delay, _LONGEST_NAP_S)


# The child has no turns of the parent, and not the threads that held them
os.register_at_fork(after_in_child=_files.clear)
