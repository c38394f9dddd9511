"""Time limits for calls of dask, whose own time limits do not cover the whole call."""

from __future__ import annotations

import queue
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """The result or the exception of a call; raises TimeoutError if it does not finish in time.

    The call then continues in a daemon thread.
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
    return result  # type: ignore[return-value]  # None only if the call returned it
