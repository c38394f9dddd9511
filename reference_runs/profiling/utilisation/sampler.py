"""The machine's utilization during an interval of the log, sampled by a thread."""

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
"""Seconds between two readings: each costs about a millisecond of CPU time."""
SHORTEST = 0.1
"""Seconds. The system counts CPU time in hundredths, so shorter spans are meaningless."""


class PsutilMissing(RunFault):
    """psutil, which reads the machine's utilization, is not installed."""


class Reading(NamedTuple):
    """Counters and levels at one moment: seconds, bytes."""

    at: float
    """Seconds since 1970, as in the log."""
    busy: float
    whole: float
    """Seconds of all CPUs since boot, and the busy ones among them."""
    own: float
    """CPU seconds of this process and its children."""
    memory: int
    resident: int
    disk_read: int
    disk_written: int
    network_received: int
    network_sent: int
    gpu: GpuReading | None


class Machine:
    """The machine through psutil, and the GPU in use, if it can be read.

    Raises PsutilMissing.
    """

    def __init__(self, gpu: Gpu | None = None) -> None:
        try:
            self._psutil: Any = import_module("psutil")
        except ImportError:
            raise PsutilMissing(
                "the machine's utilization requires psutil: pip install psutil"
            ) from None
        self._gpu = gpu
        self._own = self._psutil.Process()
        self._started: list[Any] = []

    def look_for_workers(self) -> None:
        """Find the processes that load data for this one, while it waits.

        psutil would scan all processes of the machine, which costs tens of milliseconds.
        """
        self._started = []
        for worker in multiprocessing.active_children():
            # A process that has ended has its time counted in this one
            with suppress(self._psutil.Error):
                self._started.append(self._psutil.Process(worker.pid))

    def read(self) -> Reading:
        """All figures now."""
        psutil = self._psutil
        times = psutil.cpu_times()
        # Linux counts the time of a guest as its user's, too
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
        seconds = used.user + used.system + used.children_user + used.children_system
        for worker in self._started:
            try:
                used = worker.cpu_times()
            except self._psutil.Error:
                continue  # it has ended: its parent includes its time now
            seconds += used.user + used.system
        return float(seconds)


class Sampler:
    """Reads the machine at the beginning and the end of an interval, and periodically between.

    `keep` receives each finished span, with times in milliseconds since 1970; the sampling thread
    calls it. If reading fails, `fault` has the reason, and sampling stops.
    """

    def __init__(
        self, machine: Machine, keep: Callable[[Usage], None], period: float = PERIOD
    ) -> None:
        self._machine, self._keep, self._period = machine, keep, period
        self._intervals = 0
        self.fault: str | None = None

    @contextmanager
    def during(self) -> Iterator[None]:
        """Sample during the next interval."""
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
        # psutil's own errors have no base class in the standard library
        except Exception as error:
            self.fault = f"cannot read the machine's utilization: {error}"
        finally:
            begun.set()


def between(first: Reading, last: Reading, interval: int) -> Usage:
    """The usage between two readings, in milliseconds since 1970."""
    # Avoid a division by zero if the clock was set back
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
    """A span as the value of a `tracked_stats` record: the available figures, by name."""
    skipped = ("begin_ms", "end_ms", "interval", "gpu")
    stats = {k: v for k, v in vars(usage).items() if k not in skipped}
    gpu = {} if usage.gpu is None else vars(usage.gpu)
    return stats | {f"gpu_{k}": v for k, v in gpu.items() if v is not None}
