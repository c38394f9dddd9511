"""`--engine`: what it names, and the scheduler that it stands for, for as long as a call takes.

A cluster of this machine has as many workers as `--jobs`. It listens on the loopback alone, and
only who has its key, made for the call and written nowhere, can speak to it. An existing scheduler
is spoken to as dask's own configuration has it (`distributed.comm.tls`).
"""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.judging.workers.cluster.deadline import within
from podium.compliance.judging.workers.cluster.engine import DaskEngine
from podium.compliance.judging.workers.engine import Engine

EXTRA = "dask"
"""The extra that brings the library, and the one that makes keys."""

SECONDS = 5.0
"""How long a scheduler that exists may take to answer."""

WORKER_SECONDS = 30.0
"""How long its first worker may take to be there."""

STARTS = 2
"""How often a cluster of this machine is started: a worker may be killed meanwhile."""

_ADDRESS = re.compile(r"[a-z]+://[^/@\s]+:[0-9]+")
_USER = re.compile(r"(?<=://)[^/]*@")

LOOPBACK = "127.0.0.1"


@contextmanager
def engine_of(given: str | None, jobs: int) -> Iterator[Engine | None]:
    """The engine that `--engine` names, None for processes; its workers end with the context.

    Raises UsageFault for a name that is none, or where the extra is not installed; a scheduler is
    asked for when there is something to judge.
    """
    name, colon, address = (given or "processes").partition(":")
    if name == "processes" and not colon:
        yield None
        return
    if name != "dask" or (colon and not address):
        raise UsageFault(f"--engine {given} is none; use processes, dask or dask:ADDRESS")
    dask = needed("distributed", "--engine dask", EXTRA)
    needed("cryptography", "--engine dask", EXTRA)
    # Of workers that come and go the caller says what matters; some threads tell of it late
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:

        def connect() -> tuple[Any, str]:
            client = _existing(dask, address) if colon else _local(dask, jobs, stack)
            stack.callback(client.close, timeout=SECONDS)
            return client, f"--engine {given}"

        yield DaskEngine(connect)


def _existing(dask: Any, address: str) -> Any:
    """A client of a scheduler, by its address or by the file that it has written."""
    named = f"--engine dask:{_USER.sub('', address)}"
    by_name = _ADDRESS.fullmatch(address) is not None
    if _USER.search(address):
        raise UsageFault(f"{named}: the address of a scheduler has no user and no password")
    if not by_name and not os.path.isfile(address):
        # dask would wait for it
        raise UsageFault(f"{named}: neither an address, as tcp://HOST:PORT, nor a scheduler's file")
    where = {"address": address} if by_name else {"scheduler_file": address}
    # A client that never was connected would, when it is forgotten, wait to be closed
    forgotten = {"__del__": lambda _: None}
    kind = type("Client", (dask.Client,), forgotten)
    try:
        client = within(2 * SECONDS, lambda: kind(**where, timeout=SECONDS, set_as_default=False))
    except TimeoutError:
        raise UsageFault(f"{named}: no scheduler answers: it takes connections only") from None
    except Exception as error:
        raise UsageFault(f"{named}: no scheduler answers: {_first_line(error)}") from None
    try:
        within(WORKER_SECONDS + SECONDS, lambda: client.wait_for_workers(1, timeout=WORKER_SECONDS))
    except TimeoutError:
        client.close(timeout=SECONDS)
        raise UsageFault(f"{named}: the scheduler has no worker; start one") from None
    return client


def _local(dask: Any, jobs: int, stack: ExitStack) -> Any:
    """A client of a cluster of this machine's, which is closed with the stack."""
    settings: dict[str, list[str]] = {
        # Nobody asks what they do; without routes their servers have no pages
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.nanny.http.routes": [],
    }
    security = dask.Security.temporary()

    def start() -> Any:
        return dask.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            protocol="tls://",
            security=security,
            # Any port for the pages that there are none of: one of a fixed number may be taken
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            # What judges is not in the worker's own memory; the system's limits hold for it
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )

    with needed("dask", "--engine dask", EXTRA).config.set(settings), _uninterrupted():
        cluster = _started(start)
        stack.callback(_end, cluster)
    return dask.Client(cluster, security=security, timeout=SECONDS, set_as_default=False)


def _started(start: Callable[[], Any]) -> Any:
    """A cluster whose workers have all started; one is tried again where a worker was lost."""
    for left in reversed(range(STARTS)):
        try:
            return start()
        # What dask raises depends on how far the worker had come
        except Exception as error:
            if not left:
                reason = _first_line(error)
                raise UsageFault(f"--engine dask: no cluster can be started: {reason}") from None
    raise AssertionError


def _end(cluster: Any) -> None:
    """Close a cluster, whose workers have nothing to do any more that somebody waits for."""
    for nanny in cluster.workers.values():
        # Asked to close, a worker would first wait for what hangs
        nanny.auto_restart = False
        if nanny.pid:
            with suppress(OSError):
                os.kill(nanny.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    cluster.close(timeout=SECONDS)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait until the workers are there, and never reach them.

    Threads and processes that are started meanwhile, and all that they start, take none: only the
    command says that it was interrupted, and ends its workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It is started with the first process otherwise, and lets interrupts through from then on
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
