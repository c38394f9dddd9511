"""A process beside a worker, in which batches are judged: a file that ends it ends no worker.

A worker has threads, and must not be forked. Its helper has what judges loaded, and forks a process
for each batch as the engine of processes does, so that a file that kills or hangs one is tried
again and reported in the same words. It ends with its worker, or when there is nothing to do.
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
"""A helper without work ends after so long; the next batch starts another."""

LENGTH = struct.Struct("!Q")
"""The number of bytes that follow, in front of each batch and each answer."""


def serve() -> None:
    """Answer the batches that come by standard input, until it ends or none comes any more."""
    came, told = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    # What is printed by accident must not be taken for an answer
    os.dup2(2, 1)
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    Thread(target=_receive, args=(came, batches), daemon=True).start()
    with fewer_collections():
        while True:
            try:
                data = batches.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                return
            send(told, packed(_answer(unpacked(data))))


def send(pipe: int, data: bytes) -> None:
    """Write a batch or an answer; raises OSError where nobody reads."""
    left = memoryview(LENGTH.pack(len(data)) + data)
    while left:
        left = left[os.write(pipe, left) :]


def receive(pipe: int) -> bytes | None:
    """A batch or an answer; None where the other end is closed."""
    head = _read(pipe, LENGTH.size)
    return None if head is None else _read(pipe, LENGTH.unpack(head)[0])


def _read(pipe: int, count: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < count:
        # No more than a pipe holds by far: what is asked for is allocated first
        piece = os.read(pipe, min(count - len(pieces), 1 << 20))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)


def _receive(pipe: int, batches: queue.SimpleQueue[bytes]) -> None:
    """Pass on what comes; the end of the pipe is the end of the worker, and so of this process."""
    while (data := receive(pipe)) is not None:
        batches.put(data)
    os._exit(0)


def _answer(batch: Batch) -> Answer:
    try:
        unfit = _unfit(batch)
        if unfit:
            return Answer([], unfit)
        batch.care.prepare(batch.tasks)
        done = spread(batch.work, batch.tasks, 1, batch.care)
        return Answer([one for some in done for one in some])
    except Exception as error:
        return Answer([], raised=error)


def _unfit(batch: Batch) -> str:
    """Why this machine cannot judge these files as the sender would; empty where it can."""
    try:
        # Paths are shown as the user gave them, and so are opened as he did
        os.chdir(batch.folder)
    except OSError:
        return batch.folder
    return next((path for path in batch.seen if not os.path.lexists(path)), "")
