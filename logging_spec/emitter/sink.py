"""Destinations of log lines: each line is written at once, and none is lost if a write fails."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import stat
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from podium.logging_spec.emitter.turns import Turn, turn_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PAGE: Final = 4096
"""Page size in bytes: a write that a signal kills is complete or ends at a page boundary."""

RESERVE: Final = 512
"""A page with less space than this is padded, so that the next line starts a new page."""


class LogNotWrittenError(OSError):
    """Lines could not be written; they are kept, and `retry()` writes them."""

    def __init__(self, name: str, count: int, cause: OSError) -> None:
        reason = cause.strerror or str(cause)
        lines = "1 line is" if count == 1 else f"{count} lines are"
        super().__init__(
            cause.errno, f"{name}: {lines} not written ({reason}); kept until retry() succeeds"
        )


class Sink(Protocol):
    """The destination of a logger."""

    def write(self, line: bytes) -> None:
        """Write one line, including its newline; LogNotWrittenError if that fails."""

    def retry(self) -> None:
        """Write the kept lines; LogNotWrittenError if that fails again."""

    def sync(self) -> None:
        """Sync the written lines to disk, if there is one."""

    def close(self) -> None:
        """Write the kept lines and close the file."""


class _Keeping:
    """Keeps the lines that could not be written, in order."""

    def __init__(self, name: str, fd: int | None = None) -> None:
        self.name = name
        self._fd = fd
        self._turn = turn_at(fd)
        self._kept: deque[bytes] = deque()
        _sinks.add(self)

    @property
    def kept(self) -> int:
        """The number of lines that wait to be written."""
        return len(self._kept)

    def write(self, line: bytes) -> None:
        """Write one line; the first failure raises, later ones only keep their lines."""
        with self._turn:
            if not self._kept:
                try:
                    self._put(line)
                except OSError as error:
                    self._kept.append(line)
                    raise LogNotWrittenError(self.name, 1, error) from error
                return
            self._kept.append(line)
            self._write_kept()

    def retry(self) -> None:
        """Write the kept lines."""
        with self._turn:
            error = self._write_kept()
            if error is not None:
                raise LogNotWrittenError(self.name, len(self._kept), error) from error

    def _write_kept(self) -> OSError | None:
        # A line leaves the queue only after it is written, so a second failure loses none
        while self._kept:
            try:
                self._put_again(self._kept[0])
            except OSError as error:
                return error
            self._kept.popleft()
        return None

    def _put(self, line: bytes) -> None:
        raise NotImplementedError

    def _put_again(self, line: bytes) -> None:
        self._put(line)

    def forget(self) -> None:
        """In a forked child: drop the kept lines, which the parent writes."""
        self._turn = turn_at(self._fd)
        self._kept.clear()


class DescriptorSink(_Keeping):
    """One `os.write` for each line, to a file, pipe or terminal; processes take turns.

    In a file opened for appending, an unfinished line of another process is ended first: a process
    that was killed while writing, or whose disk was full.
    """

    def __init__(
        self,
        fd: int,
        name: str,
        *,
        owned: bool,
        flush: Callable[[], Any] | None = None,
        keep_pages: bool = True,
    ) -> None:
        super().__init__(name, fd)
        self._fd: int = fd
        self._owned = owned
        self._flush = flush
        self._whence = _end_of(fd)
        # An unfinished line that a program printed before stays unchanged; a log file has only
        # lines
        self._ends_lines = flush is None and self._whence == os.SEEK_END
        self._end = 0  # of the last line written here
        self._reading: int | None = None
        self._keep_pages = keep_pages and self._whence is not None
        self._cut: tuple[int, int] | None = None  # written bytes of a line, and their end

    def _put(self, line: bytes) -> None:
        if self._flush is not None:
            self._flush_stream(self._flush)
        position = self._position()
        prefix = b"\n" if self._ends_lines and self._is_inside_a_line(position) else b""
        text = line
        if self._keep_pages:
            blanks, text = _placed(line, position + len(prefix))
            prefix += blanks
        data, written = prefix + text, 0
        try:
            while written < len(data):
                written += self._write_some(data[written:])
        except OSError:
            # If only trailing blanks are missing, the newline is left to write
            if written > len(prefix):
                self._cut = min(written - len(prefix), len(line) - 1), self._position()
            raise
        self._end = position + len(data)

    def _flush_stream(self, flush: Callable[[], Any]) -> None:
        # Output that the program printed before this line is written before it.
        try:
            flush()
        except ValueError as error:  # a closed stream
            raise OSError(errno.EBADF, str(error)) from error

    def _write_some(self, data: bytes) -> int:
        while True:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:
                import select

                # A full non-blocking pipe: dropping the rest would cut the line
                select.select([], [self._fd], [])

    def _is_inside_a_line(self, position: int) -> bool:
        """Whether another process wrote last and left no newline at the end."""
        if position in (0, self._end):
            return False
        if self._reading is None:
            self._reading = _opened_for_reading(self._fd, self.name)
            weakref.finalize(self, _close, self._reading)
        try:
            return os.pread(self._reading, 1, position - 1) not in (b"\n", b"")
        except OSError:  # it may be writable but not readable
            return False

    def _position(self) -> int:
        """The end of the file; 0 for pipes and terminals, which have no end."""
        return 0 if self._whence is None else os.lseek(self._fd, 0, self._whence)

    def _put_again(self, line: bytes) -> None:
        if self._cut is None:
            self._put(line)
            return
        written, end = self._cut
        if end != self._position():  # another process wrote after the piece and ended the line
            self._cut = None
            self._put(line)
            return
        while written < len(line):
            written += self._write_some(line[written:])
            self._cut = written, self._position()
        self._cut = None

    def forget(self) -> None:
        """In a forked child: drop the kept lines, which the parent writes."""
        super().forget()
        self._cut = None

    def sync(self) -> None:
        """Sync the lines to disk; pipes and terminals have none."""
        try:
            os.fsync(self._fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
                raise LogNotWrittenError(self.name, len(self._kept), error) from error

    def close(self) -> None:
        """Write the kept lines and close the file if it was opened here."""
        try:
            self.retry()
        finally:
            if isinstance(self._turn, Turn) and self._owned:
                self._turn.close()
            elif self._owned:
                os.close(self._fd)
            # A later write must fail, not reach another file with the same descriptor
            self._fd, self._owned, self._whence = -1, False, None
            self._keep_pages = self._ends_lines = False
            self._turn = turn_at(None)


class StreamSink(_Keeping):
    """A stream without a descriptor, such as StringIO or the stdout of a notebook."""

    def __init__(self, stream: Any, name: str) -> None:
        super().__init__(name)
        self._stream = stream
        self._binary = isinstance(stream, io.RawIOBase | io.BufferedIOBase)

    def _put(self, line: bytes) -> None:
        try:
            self._stream.write(line if self._binary else line.decode("ascii"))
            self.sync()
        except ValueError as error:  # a closed stream
            raise OSError(errno.EBADF, str(error)) from error

    def sync(self) -> None:
        """Flush the stream."""
        flush = getattr(self._stream, "flush", None)
        if flush is not None:
            flush()

    def close(self) -> None:
        """Write the kept lines; the owner closes the stream."""
        self.retry()


def _placed(line: bytes, position: int) -> tuple[bytes, bytes]:
    """Padding blanks and the line, so that the line does not cross a page boundary.

    The kernel stops a write at a page boundary when the process is killed, so a line that crosses
    one could be cut. A line longer than a page cannot be protected this way: the next writer ends
    it.
    """
    space, padding, size = PAGE - position % PAGE, b"", len(line)
    if space < size <= PAGE:
        # A line of blanks has no token, so readers ignore it
        padding = b" " * (space - 1) + b"\n"
        space = PAGE
    if 0 < space - size < RESERVE:
        line = line[:-1] + b" " * (space - size) + b"\n"
    return padding, line


def _opened_for_reading(fd: int, name: str) -> int:
    """Another descriptor of the same file, for reading; -1 if that is impossible."""
    for path in (f"/proc/self/fd/{fd}", name):
        with contextlib.suppress(OSError):
            other_fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            if os.path.sameopenfile(fd, other_fd):
                return other_fd
            os.close(other_fd)
    return -1


def _close(fd: int) -> None:
    with contextlib.suppress(OSError):
        os.close(fd)


def _end_of(fd: int) -> int | None:
    """The start of the next line according to `lseek`; None for anything but a regular file."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        appending = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND
    except OSError:
        return None
    # Appended text goes to the end of the file, whatever the offset
    return os.SEEK_END if appending else os.SEEK_CUR


# Weak, so that forks do not keep sinks alive that the program drops
_sinks: weakref.WeakSet[_Keeping] = weakref.WeakSet()


def _forget_after_fork() -> None:
    for sink in list(_sinks):
        sink.forget()


# Data loaders fork: a child must not write the kept lines of its parent a second time
os.register_at_fork(after_in_child=_forget_after_fork)
