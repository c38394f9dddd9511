"""Processes that work for this one: how they are started, and that they end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.context import BaseContext
from threading import Thread
from typing import Any


def process_context() -> BaseContext:
    """How processes are started: forked where that is safe, and the rules are so loaded already."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else None)


def end_with_parent() -> None:
    """Let this process end when the one that started it is gone, even killed without a word."""
    # Ctrl-C reaches all processes of a terminal: only the parent says so, and cleans up
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_await, args=(parent.sentinel,), daemon=True).start()


def how_it_ended(status: int) -> str:
    """How a process ended, by its exit status, as the end of a sentence about it."""
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name
    # The kernel says no more to whoever it ends when memory runs out
    return f"was killed by {name}" + (", perhaps for its memory" if name == "SIGKILL" else "")


def _await(sentinel: Any) -> None:
    from multiprocessing.connection import wait

    # A forked process also holds the pipes of those forked before it: they end one by one.
    wait([sentinel])
    # sys.exit would end this thread only
    os._exit(1)
