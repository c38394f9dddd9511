"""`--engine`: its value, and the connection to a scheduler for the duration of a call.

A local cluster has as many workers as `--jobs`. It listens only on the loopback interface, and only
clients with its key can connect; the key is made for the call and never written to disk. The
connection to an existing scheduler uses the configuration of dask (`distributed.comm.tls`).
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
"""The extra that installs the library, and the library that makes keys."""

SECONDS = 5.0
"""Time limit for the answer of an existing scheduler."""

WORKER_SECONDS = 30.0
"""Time limit for its first worker."""

STARTS = 2
"""Number of attempts to start a local cluster: a worker may be killed during the start."""

_ADDRESS = re.compile(r"[a-z]+://[^/@\s]+:[0-9]+")
_USER = re.compile(r"(?<=://)[^/]*@")

LOOPBACK = "127.0.0.1"


@contextmanager
def engine_of(engine_name: str | None, jobs: int) -> Iterator[Engine | None]:
    """The engine that `--engine` names, None for processes; its workers end with the context.

    Raises UsageFault for an invalid name, or if the extra is not installed. The connection is made
    when there is something to check.
    """
    name, colon, address = (engine_name or "processes").partition(":")
    if name == "processes" and not colon:
        yield None
        return
    if name != "dask" or (colon and not address):
        raise UsageFault(f"--engine is {engine_name}; expected processes, dask or dask:ADDRESS")
    dask = needed("distributed", "--engine dask", EXTRA)
    needed("cryptography", "--engine dask", EXTRA)
    # The caller reports important events of workers; some threads of dask log them late
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:

        def connect() -> tuple[Any, str]:
            client = _existing(dask, address) if colon else _local(dask, jobs, stack)
            stack.callback(client.close, timeout=SECONDS)
            return client, f"--engine {engine_name}"

        yield DaskEngine(connect)


def _existing(dask: Any, address: str) -> Any:
    """A client of a scheduler, given its address or the file that it has written."""
    option = f"--engine dask:{_USER.sub('', address)}"
    by_name = _ADDRESS.fullmatch(address) is not None
    if _USER.search(address):
        raise UsageFault(f"{option}: the address of a scheduler must not have a user or a password")
    if not by_name and not os.path.isfile(address):
        # dask would wait for the file
        raise UsageFault(
            f"{option}: expected an address such as tcp://HOST:PORT, or a scheduler's file"
        )
    target = {"address": address} if by_name else {"scheduler_file": address}
    # A client that was never connected would wait to be closed when it is deleted
    forgotten = {"__del__": lambda _: None}
    kind = type("Client", (dask.Client,), forgotten)
    try:
        client = within(2 * SECONDS, lambda: kind(**target, timeout=SECONDS, set_as_default=False))
    except TimeoutError:
        raise UsageFault(
            f"{option}: no scheduler answers: it accepts connections, but does not reply"
        ) from None
    except Exception as error:
        raise UsageFault(f"{option}: no scheduler answers: {_first_line(error)}") from None
    try:
        within(WORKER_SECONDS + SECONDS, lambda: client.wait_for_workers(1, timeout=WORKER_SECONDS))
    except TimeoutError:
        client.close(timeout=SECONDS)
        raise UsageFault(f"{option}: the scheduler has no worker; start one") from None
    return client


def _local(dask: Any, jobs: int, stack: ExitStack) -> Any:
    """A client of a local cluster, which is closed with the stack."""
    settings: dict[str, list[str]] = {
        # Their status is not needed: without routes their servers have no pages
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
            # Any port, although it serves no pages: a fixed port may be in use
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            # The checks do not run in the worker's own memory; the system's limits apply to them
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )

    with needed("dask", "--engine dask", EXTRA).config.set(settings), _uninterrupted():
        cluster = _started(start)
        stack.callback(_end, cluster)
    return dask.Client(cluster, security=security, timeout=SECONDS, set_as_default=False)


def _started(start: Callable[[], Any]) -> Any:
    """A cluster whose workers have all started; the start is repeated if a worker is lost."""
    for remaining in reversed(range(STARTS)):
        try:
            return start()
        # The exception of dask depends on the state of the worker
        except Exception as error:
            if not remaining:
                reason = _first_line(error)
                raise UsageFault(f"--engine dask: the cluster cannot start: {reason}") from None
    raise AssertionError


def _end(cluster: Any) -> None:
    """Close a cluster, whose work is not needed any more."""
    for nanny in cluster.workers.values():
        # A worker that is asked to close would first wait for hanging work
        nanny.auto_restart = False
        if nanny.pid:
            with suppress(OSError):
                os.kill(nanny.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    cluster.close(timeout=SECONDS)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay an interrupt until the workers have started, and never pass it to them.

    Threads and processes that are started in the meantime, and their children, get no interrupts:
    only the command reports that it was interrupted, and ends its workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Otherwise it starts with the first process, and does not block interrupts
    resource_tracker.ensure_running()
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
