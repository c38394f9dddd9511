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


def end_with_input() -> None:
    """Let this process and its group end once standard input does.

    For a process that leads its group, and whose standard input is a pipe that nothing is written
    to: the pipe ends when the process at its other end is gone, even killed without a word. What
    reads standard input from then on finds it empty.
    """
    pipe, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    Thread(target=_await_end, args=(pipe,), daemon=True).start()


def how_it_ended(status: int) -> str:
    """How a process ended, by its exit status, as the end of a sentence about it."""
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name
    # The kernel says no more to whoever it ends when memory runs out
    return f"was killed by {name}" + (", perhaps for its memory" if name == "SIGKILL" else "")


def _await_end(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _await(sentinel: Any) -> None:
    from multiprocessing.connection import wait

    # A forked process also holds the pipes of those forked before it: they end one by one.
    wait([sentinel])
    # A plug-in's process leads a group, which holds what the plug-in has started
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    # sys.exit would end this thread only
    os._exit(1)
