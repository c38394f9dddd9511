"""Child processes: how they start, and how they end with this process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from threading import Thread
from typing import Any

SAFE_PATH = "PYTHONSAFEPATH"
"""The environment variable that keeps Python from importing the current folder."""


def process_context() -> BaseContext:
    """The start method: fork if that is safe, so that the rules are already loaded.

    Elsewhere a process is a new Python. It does not import from the current folder, which may be a
    foreign submission; nor does anything that this process starts later.
    """
    if sys.platform == "linux":
        return multiprocessing.get_context("fork")
    os.environ[SAFE_PATH] = "1"
    return multiprocessing.get_context("spawn")


@contextmanager
def no_imports_from_here() -> Iterator[None]:
    """Keep Python processes that are started in this context from importing the current folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def end_with_parent() -> None:
    """Let this process end when its parent is gone, even if that was killed."""
    # Ctrl-C reaches all processes of a terminal: only the parent reports it and cleans up
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_await, args=(parent.sentinel,), daemon=True).start()


def end_with_input() -> None:
    """Let this process and its group end when standard input ends.

    For a process that leads its group and whose standard input is an unused pipe: the pipe ends
    when the process at its other end is gone, even if that was killed. Standard input is empty
    afterwards.
    """
    pipe, devnull = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)
    Thread(target=_await_end, args=(pipe,), daemon=True).start()


def how_it_ended(status: int) -> str:
    """The end of a process as a phrase for a message, from its exit status."""
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name
    # The kernel gives no reason if it kills a process that is out of memory
    return f"was killed by {name}" + (", perhaps for its memory" if name == "SIGKILL" else "")


def _await_end(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def _await(sentinel: Any) -> None:
    from multiprocessing.connection import wait

    # A forked process also has the pipes of earlier forks, so they end one by one
    wait([sentinel])
    # A plug-in's process leads a group, which includes processes that the plug-in started
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    # sys.exit would end only this thread
    os._exit(1)
