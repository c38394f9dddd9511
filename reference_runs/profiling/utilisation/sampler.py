"""How busy the machine is while an interval of the log lasts, sampled by a thread beside it."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.profile import GpuUsage, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podium.reference_runs.profiling.utilisation.nvml import Gpu, GpuReading

PERIOD = 1.0
"""Seconds between two readings: each costs about a millisecond of the processor."""
SHORTEST = 0.1
"""Seconds. The system counts processor time in hundredths, so that less tells nothing."""


class PsutilMissing(RunFault):
    """The library that tells how busy the machine is has not been installed."""


class Reading(NamedTuple):
    """Counters and levels of one moment: seconds, bytes."""

    at: float
    """Seconds since 1970, as the log's times are."""
    busy: float
    whole: float
    """Seconds of all processors since the start, and those in which they worked."""
    own: float
    """Seconds of processors that this process and those that it started have used."""
    memory: int
    resident: int
    disk_read: int
    disk_written: int
    network_received: int
    network_sent: int
    gpu: GpuReading | None


class Machine:
    """The machine by psutil, and the GPU that is worked on, if there is one to ask.

    Raises PsutilMissing.
    """

    def __init__(self, gpu: Gpu | None = None) -> None:
        try:
            self._psutil: Any = import_module("psutil")
        except ImportError:
            raise PsutilMissing(
                "the machine's utilisation needs psutil: pip install psutil"
            ) from None
        self._gpu = gpu
        self._own = self._psutil.Process()
        self._started: list[Any] = []

    def look_for_workers(self) -> None:
        """Learn which processes load data for this one, as it waits.

        psutil would go through all processes of the machine, which costs tens of milliseconds.
        """
        self._started = []
        for each in multiprocessing.active_children():
            # One that has ended meanwhile has its time with this process
            with suppress(self._psutil.Error):
                self._started.append(self._psutil.Process(each.pid))

    def read(self) -> Reading:
        """All figures now."""
        psutil = self._psutil
        times = psutil.cpu_times()
        # Linux counts what a guest does as its user's, too
        whole = sum(times) - getattr(times, "guest", 0) - getattr(times, "guest_nice", 0)
        disks, network = psutil.disk_io_counters(), psutil.net_io_counters()
        return Reading(
            at=time.time(),
            busy=whole - times.idle - getattr(times, "iowait", 0),
            whole=whole,
            own=self._seconds(),
            memory=psutil.virtual_memory().used,
            resident=self._own.memory_info().rss,
            # A container may have no disks or networks to count
            disk_read=disks.read_bytes if disks else 0,
            disk_written=disks.write_bytes if disks else 0,
            network_received=network.bytes_recv if network else 0,
            network_sent=network.bytes_sent if network else 0,
            gpu=None if self._gpu is None else self._gpu.read(),
        )

    def _seconds(self) -> float:
        used = self._own.cpu_times()
        found = used.user + used.system + used.children_user + used.children_system
        for each in self._started:
            try:
                used = each.cpu_times()
            except self._psutil.Error:
                continue  # it has ended: its parent has its time now
            found += used.user + used.system
        return float(found)


class Sampler:
    """Reads the machine at the begin and the end of an interval, and now and then between.

    `keep` gets each span as it ends, with times in milliseconds since 1970; it is called by the
    thread. Where reading fails, `fault` says why, and sampling is over.
    """

    def __init__(
        self, machine: Machine, keep: Callable[[Usage], None], period: float = PERIOD
    ) -> None:
        self._machine, self._keep, self._period = machine, keep, period
        self._intervals = 0
        self.fault: str | None = None

    @contextmanager
    def during(self) -> Iterator[None]:
        """Sample while the next interval lasts."""
        number = self._intervals
        self._intervals += 1
        if self.fault is not None:
            yield
            return
        begun, ended = Event(), Event()
        thread = Thread(target=self._sample, args=(number, begun, ended), daemon=True)
        thread.start()
        begun.wait()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _sample(self, number: int, begun: Event, ended: Event) -> None:
        try:
            self._machine.look_for_workers()
            last, kept = self._machine.read(), 0
            begun.set()
            over = False
            while not over:
                over = ended.wait(self._period)
                now = self._machine.read()
                if now.at - last.at >= SHORTEST or (over and not kept):
                    self._keep(between(last, now, number))
                    last, kept = now, kept + 1
        # psutil's own errors have no base in the standard library
        except Exception as error:
            self.fault = f"the machine's utilisation could not be read: {error}"
        finally:
            begun.set()


def between(first: Reading, last: Reading, interval: int) -> Usage:
    """What two readings say of the time between them, in milliseconds since 1970."""
    # A clock that was set back must not divide by nothing
    seconds = max(last.at - first.at, 1e-6)
    whole = last.whole - first.whole
    return Usage(
        begin_ms=first.at * 1000,
        end_ms=last.at * 1000,
        interval=interval,
        cpu=(last.busy - first.busy) / whole if whole > 0 else 0.0,
        processors=max(last.own - first.own, 0.0) / seconds,
        memory=last.memory,
        resident=last.resident,
        disk_read=(last.disk_read - first.disk_read) / seconds,
        disk_written=(last.disk_written - first.disk_written) / seconds,
        network_received=(last.network_received - first.network_received) / seconds,
        network_sent=(last.network_sent - first.network_sent) / seconds,
        gpu=_gpu_between(first.gpu, last.gpu, seconds),
    )


def _gpu_between(first: GpuReading | None, last: GpuReading | None, seconds: float) -> Any:
    if first is None or last is None:
        return None
    levels = last._asdict()
    for name in ("nvlink_received", "nvlink_sent"):
        before, after = getattr(first, name), getattr(last, name)
        levels[name] = None if before is None or after is None else (after - before) / seconds
    return GpuUsage(**levels)


def stats_of(usage: Usage) -> dict[str, float]:
    """A span as the value of a `tracked_stats` record: what is told, by name."""
    skipped = ("begin_ms", "end_ms", "interval", "gpu")
    found = {k: v for k, v in vars(usage).items() if k not in skipped}
    gpu = {} if usage.gpu is None else vars(usage.gpu)
    return found | {f"gpu_{k}": v for k, v in gpu.items() if v is not None}
