"""The utilization of the machine in a profile: readings, intervals and missing packages."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from podium.logging_spec import Logger
from podium.reference_runs.profiling.profile import Usage
from podium.reference_runs.profiling.utilisation.nvml import Gpu, GpuReading, NvmlMissing
from podium.reference_runs.profiling.utilisation.sampler import (
    Machine,
    Reading,
    Sampler,
    between,
    stats_of,
)
from podium.reference_runs.profiling.utilisation.watched import Watched
from podium.reference_runs.profiling.wanted import ProfileRequest

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)


class FakeError(Exception):
    """The exception that the fake NVML raises."""


class FakeNvml(ModuleType):
    """The used functions of nvidia-ml-py, for one GPU; the functions in `lacks` fail."""

    NVMLError = FakeError
    NVML_SUCCESS, NVML_CLOCK_SM, NVML_CLOCK_MEM = 0, 1, 2
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 138, 139

    def __init__(self, *lacks: str) -> None:
        super().__init__("pynvml")
        self.lacks, self.links, self.open = lacks, 0, 0

    def _answer(self, name: str, value: Any) -> Any:
        if name in self.lacks:
            raise FakeError(f"{name}: Not Supported")
        return value

    def nvmlInit(self) -> None:  # noqa: N802 - the library's name
        self._answer("Init", None)
        self.open += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        return self._answer("HandleByUUID", uuid)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return self._answer("HandleByIndex", index)

    def nvmlDeviceGetUtilizationRates(self, _: Any) -> Any:  # noqa: N802
        return self._answer("UtilizationRates", SimpleNamespace(gpu=75, memory=10))

    def nvmlDeviceGetMemoryInfo(self, _: Any) -> Any:  # noqa: N802
        return self._answer("MemoryInfo", SimpleNamespace(used=5 << 30))

    def nvmlDeviceGetClockInfo(self, _: Any, kind: int) -> int:  # noqa: N802
        return self._answer("ClockInfo", {1: 1980, 2: 2619}[kind])

    def nvmlDeviceGetPowerUsage(self, _: Any) -> int:  # noqa: N802
        return self._answer("PowerUsage", 412_500)

    def nvmlDeviceGetPcieThroughput(self, _: Any, way: int) -> int:  # noqa: N802
        return self._answer("PcieThroughput", {0: 100, 1: 300}[way])

    def nvmlDeviceGetFieldValues(self, _: Any, fields: list[tuple[int, int]]) -> Any:  # noqa: N802
        self.links += 1000  # KiB since the driver was loaded
        status = 0 if "FieldValues" not in self.lacks else 3
        return [
            SimpleNamespace(
                nvmlReturn=status, value=SimpleNamespace(ullVal=self.links * (1 + (field == 138)))
            )
            for field, _ in fields
        ]


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_gpu_readings_are_converted_to_common_units(nvml: FakeNvml) -> None:
    gpu = Gpu("GPU-1", 0)
    assert gpu.read() == GpuReading(
        busy=0.75,
        memory=5 << 30,
        sm_clock=1980,
        memory_clock=2619,
        power=412.5,
        pcie_received=300_000,
        pcie_sent=100_000,
        nvlink_received=1000 * 1024,
        nvlink_sent=2000 * 1024,
    )
    gpu.close()
    assert nvml.open == 0


def test_unsupported_gpu_readings_are_none(nvml: FakeNvml) -> None:
    nvml.lacks = ("PowerUsage", "FieldValues", "PcieThroughput", "HandleByUUID")
    found = Gpu("GPU-1", 0).read()
    assert (found.power, found.nvlink_sent, found.pcie_sent) == (None, None, None)
    assert found.busy == 0.75


@pytest.mark.parametrize(
    ("lacks", "said"),
    [
        (("Init",), "NVML is unavailable: Init: Not Supported"),
        (("HandleByUUID", "HandleByIndex"), "NVML is unavailable: HandleByIndex: Not Supported"),
    ],
)
def test_an_nvml_failure_is_an_error_of_one_line(
    nvml: FakeNvml, lacks: tuple[str, ...], said: str
) -> None:
    nvml.lacks = lacks
    with pytest.raises(NvmlMissing, match=f"^{said}$"):
        Gpu("GPU-1", 0)


def test_a_missing_package_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NvmlMissing, match=r"pip install nvidia-ml-py$"):
        Gpu("GPU-1", 0)


def reading(at: float, **changes: Any) -> Reading:
    """A reading at a time in seconds, with counters proportional to the time."""
    counters = {
        "busy": at * 3,
        "whole": at * 4,
        "own": at * 2,
        "memory": 1000,
        "resident": 100,
        "disk_read": int(at * 10),
        "disk_written": int(at * 20),
        "network_received": int(at * 30),
        "network_sent": int(at * 40),
        "gpu": None,
    }
    return Reading(at=at, **{**counters, **changes})


def test_a_span_has_rates_of_counters_and_current_levels() -> None:
    found = between(reading(100), reading(102, memory=2000), 3)
    assert found == Usage(
        begin_ms=100_000,
        end_ms=102_000,
        interval=3,
        cpu=0.75,
        processors=2,
        memory=2000,
        resident=100,
        disk_read=10,
        disk_written=20,
        network_received=30,
        network_sent=40,
    )


def test_the_nvlink_rate_is_computed_from_its_counters(nvml: FakeNvml) -> None:
    gpu = Gpu("GPU-1", 0)
    found = between(reading(1, gpu=gpu.read()), reading(3, gpu=gpu.read()), 0)
    assert found.gpu is not None
    assert found.gpu.nvlink_received == 1000 * 1024 / 2
    assert stats_of(found)["gpu_power"] == 412.5


def test_an_interval_is_sampled_from_start_to_end() -> None:
    kept: list[Usage] = []
    sampler = Sampler(Machine(), kept.append, period=0.15)
    begun = time.time() * 1000
    with sampler.during():
        time.sleep(0.4)
    with sampler.during():
        pass
    ended = time.time() * 1000
    assert sampler.fault is None
    first = [each for each in kept if each.interval == 0]
    assert len(first) >= 2
    assert first[0].begin_ms == pytest.approx(begun, abs=300)
    # The samples follow each other without a gap
    assert [each.begin_ms for each in first[1:]] == [each.end_ms for each in first[:-1]]
    # An interval that ends at once has a sample as well
    assert [each.interval for each in kept[len(first) :]] == [1]
    assert kept[-1].end_ms <= ended + 1


def test_the_cpu_time_of_this_process_is_measured() -> None:
    kept: list[Usage] = []
    sampler = Sampler(Machine(), kept.append)
    used = time.process_time()
    with sampler.during():
        while time.process_time() - used < 0.2:
            sum(range(1000))
    seconds = sum(each.processors * (each.end_ms - each.begin_ms) / 1000 for each in kept)
    assert seconds == pytest.approx(0.2, abs=0.06)


def test_a_failed_reading_ends_sampling_with_a_message() -> None:
    class Broken(Machine):
        def read(self) -> Reading:
            raise OSError("the disk is gone")

    kept: list[Usage] = []
    sampler = Sampler(Broken(), kept.append)
    for _ in range(2):
        with sampler.during():
            pass
    assert kept == []
    assert sampler.fault == "cannot read the machine's utilization: the disk is gone"


def watched_block(wanted: ProfileRequest, device: torch.device = CPU) -> Watched:
    """A block that is logged and sampled."""
    watched = Watched(wanted)
    with (
        Logger(watched.sinks, rank=0) as log,
        watched.sampling(device, log) as during,
        during(),
        log.block(samples_count=0),
    ):
        time.sleep(0.15)
    return watched


def keys_of(path: Path) -> list[str]:
    return [json.loads(line.split(":::MLLOG ")[1])["key"] for line in path.read_text().splitlines()]


def test_samples_have_the_times_of_their_intervals(tmp_path: Path) -> None:
    watched = watched_block(ProfileRequest(folder=tmp_path))
    intervals, usage = watched.intervals()
    assert [each.kind for each in intervals] == ["block"]
    assert usage[0].begin_ms == pytest.approx(0, abs=50)
    assert usage[-1].end_ms == pytest.approx(intervals[0].end_ms, abs=50)
    # Samples are in a separate file, not in the log
    assert keys_of(tmp_path / "log.txt") == ["block_start", "block_stop"]
    assert set(keys_of(tmp_path / "usage.txt")) == {"tracked_stats"}


def test_utilization_is_logged_on_request(tmp_path: Path) -> None:
    watched_block(ProfileRequest(folder=tmp_path, in_log=True))
    assert "tracked_stats" in keys_of(tmp_path / "log.txt")


def test_utilization_none_samples_nothing(tmp_path: Path) -> None:
    watched = watched_block(ProfileRequest(folder=tmp_path, utilisation="none"))
    assert watched.intervals()[1] == ()
    assert not (tmp_path / "usage.txt").exists()


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(uuid="1-2-3")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)


@pytest.mark.usefixtures("a_gpu")
def test_a_missing_nvml_is_noted_and_the_rest_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    watched = watched_block(ProfileRequest(), CUDA)
    assert [note for note in watched.notes if "nvidia-ml-py" in note]
    assert [each.gpu for each in watched.intervals()[1]] == [None]


@pytest.mark.usefixtures("a_gpu")
def test_a_missing_nvml_ends_a_profile_that_requires_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    watched = Watched(ProfileRequest(utilisation="all"))
    with (
        Logger(watched.sinks, rank=0) as log,
        pytest.raises(NvmlMissing),
        watched.sampling(CUDA, log),
    ):
        pass


@pytest.mark.usefixtures("a_gpu")
def test_nvml_is_closed_after_a_gpu_is_sampled(nvml: FakeNvml) -> None:
    watched = watched_block(ProfileRequest(utilisation="all"), CUDA)
    (span,) = watched.intervals()[1]
    assert span.gpu is not None
    assert (span.gpu.busy, span.gpu.power) == (0.75, 412.5)
    assert nvml.open == 0


def test_a_missing_psutil_is_noted_and_the_profile_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    watched = watched_block(ProfileRequest())
    assert watched.notes == ("the machine's utilization requires psutil: pip install psutil",)
