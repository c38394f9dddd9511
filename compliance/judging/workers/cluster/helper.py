"""A helper process next to a worker, which checks batches; if it dies, the worker survives.

A worker has threads, so it must not be forked. Its helper has imported the checks, and forks a
process for each batch, like the engine of local processes. So a file that kills or blocks a process
is tried again and reported with the same message. A helper ends with its worker, or if it is idle.
"""

from __future__ import annotations

import os
import queue
import struct
from threading import Thread

from podium.compliance.judging.workers.cluster.batch import Answer, Batch, packed, unpacked
from podium.compliance.judging.workers.gc_tuning import fewer_collections
from podium.compliance.judging.workers.processes import spread

IDLE_SECONDS = 30.0
"""Time after which an idle helper ends; the next batch starts another."""

LENGTH = struct.Struct("!Q")
"""The length in bytes before each batch and each answer."""


def serve() -> None:
    """Answer the batches from standard input, until it ends or the helper is idle."""
    input_pipe, output_pipe = os.dup(0), os.dup(1)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    # Accidental output must not be read as an answer
    os.dup2(2, 1)
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    Thread(target=_receive, args=(input_pipe, batches), daemon=True).start()
    with fewer_collections():
        while True:
            try:
                data = batches.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                return
            send(output_pipe, packed(_answer(unpacked(data))))


def send(pipe: int, data: bytes) -> None:
    """Write a batch or an answer; raises OSError if the other end is closed."""
    remaining = memoryview(LENGTH.pack(len(data)) + data)
    while remaining:
        remaining = remaining[os.write(pipe, remaining) :]


def receive(pipe: int) -> bytes | None:
    """A batch or an answer; None if the other end is closed."""
    head = _read(pipe, LENGTH.size)
    return None if head is None else _read(pipe, LENGTH.unpack(head)[0])


def _read(pipe: int, count: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < count:
        # Limited, because os.read first allocates the requested size; a pipe has far less
        piece = os.read(pipe, min(count - len(pieces), 1 << 20))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)


def _receive(pipe: int, batches: queue.SimpleQueue[bytes]) -> None:
    """Forward batches to the queue; end this process when the worker closes the pipe."""
    while (data := receive(pipe)) is not None:
        batches.put(data)
    os._exit(0)


def _answer(batch: Batch) -> Answer:
    try:
        reason = _unfit(batch)
        if reason:
            return Answer([], reason)
        batch.care.prepare(batch.tasks)
        batches = spread(batch.work, batch.tasks, 1, batch.care)
        return Answer([result for results in batches for result in results])
    except Exception as error:
        return Answer([], raised=error)


def _unfit(batch: Batch) -> str:
    """Why this machine cannot check the same files as the sender; empty if it can."""
    try:
        # Paths are shown as the user wrote them, so they must be opened from the same folder
        os.chdir(batch.folder)
    except OSError:
        return batch.folder
    return next((path for path in batch.seen if not os.path.lexists(path)), "")
