"""Calls of dask that wait for a scheduler: its own limits of time do not cover all that they do."""

from __future__ import annotations

import queue
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """What a call returns or raises; raises TimeoutError where it does neither in time.

    The call goes on in a thread that does not keep the process.
    """
    ended: queue.SimpleQueue[tuple[Result | None, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put((work(), None))
        except Exception as error:
            ended.put((None, error))

    Thread(target=run, daemon=True).start()
    try:
        result, error = ended.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # None only where the call returned it
