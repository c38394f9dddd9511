"""Destinations of a logger: paths, streams, descriptors, and several of them."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any, cast

from podium.logging_spec.emitter.sink import DescriptorSink, Sink, StreamSink

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class TeeSink:
    """Several sinks that each get every line."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def write(self, line: bytes) -> None:
        """Write the line to each sink; a failure of one does not affect the others."""
        self._each(lambda sink: sink.write(line))

    def retry(self) -> None:
        """Write the lines that any sink keeps."""
        self._each(lambda sink: sink.retry())

    def sync(self) -> None:
        """Sync the lines of each sink to disk."""
        self._each(lambda sink: sink.sync())

    def close(self) -> None:
        """Close each."""
        self._each(lambda sink: sink.close())

    def _each(self, action: Callable[[Sink], None]) -> None:
        failure: OSError | None = None
        for sink in self._sinks:
            try:
                action(sink)
            except OSError as error:
                failure = failure or error
        if failure is not None:
            raise failure


def open_sink(target: Any) -> Sink:
    """A sink for a path, a descriptor, a stream, a list of these, or None for stdout."""
    if target is None:
        target = sys.stdout
    if all(callable(getattr(target, name, None)) for name in ("write", "retry", "sync", "close")):
        return cast("Sink", target)
    if isinstance(target, list | tuple):
        return TeeSink([open_sink(item) for item in target])
    if isinstance(target, str | os.PathLike):
        return _open_file(os.fspath(target))
    if isinstance(target, int):
        return DescriptorSink(target, f"descriptor {target}", owned=False)
    name = str(getattr(target, "name", type(target).__name__))
    # Bypasses the buffer of the stream, so that a killed program loses no line
    if isinstance(target, io.TextIOWrapper | io.BufferedWriter | io.FileIO):
        try:
            return DescriptorSink(target.fileno(), name, owned=False, flush=target.flush)
        except OSError:
            return StreamSink(target, name)
    if callable(getattr(target, "write", None)):
        return StreamSink(target, name)
    raise TypeError(f"cannot write to a {type(target).__name__}")


def _open_file(path: str) -> Sink:
    # Appended, because a log is never overwritten and other processes may write the same file
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    return DescriptorSink(os.open(path, flags, 0o666), path, owned=True)
