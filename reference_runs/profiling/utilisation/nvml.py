"""A GPU's figures from NVML: load, memory, clocks, power, and link traffic."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ALL_LINKS = 0xFFFFFFFF
"""The scope of an NVLink field that means the sum of all links."""


class NvmlMissing(RunFault):
    """NVML is unavailable: its Python package, the driver or the GPU is missing."""


class GpuReading(NamedTuple):
    """Instantaneous figures; None if unavailable. NVLink counters only increase."""

    busy: float | None
    memory: int | None
    sm_clock: float | None
    memory_clock: float | None
    power: float | None
    pcie_received: float | None
    pcie_sent: float | None
    nvlink_received: int | None
    nvlink_sent: int | None


class Gpu:
    """One GPU, through NVML; `close` it at the end.

    Raises NvmlMissing, with a one-line message, if NVML is unavailable.
    """

    def __init__(self, uuid: str, index: int) -> None:
        try:
            self._nvml: Any = import_module("pynvml")
        except ImportError:
            raise NvmlMissing(
                "the GPU's utilization requires nvidia-ml-py: pip install nvidia-ml-py"
            ) from None
        try:
            self._nvml.nvmlInit()
            self._handle = self._found(uuid, index)
        except self._nvml.NVMLError as error:
            raise NvmlMissing(f"NVML is unavailable: {error}") from None

    def _found(self, uuid: str, index: int) -> Any:
        # Device numbers of CUDA and NVML differ if some devices are hidden; identifiers do not
        try:
            return self._nvml.nvmlDeviceGetHandleByUUID(uuid)
        except self._nvml.NVMLError:
            return self._nvml.nvmlDeviceGetHandleByIndex(index)

    def close(self) -> None:
        """Release the library."""
        self._query(self._nvml.nvmlShutdown)

    def read(self) -> GpuReading:
        """All figures now; takes some 40 ms, during which NVML measures the PCIe traffic."""
        nvml, gpu = self._nvml, self._handle
        power = self._query(nvml.nvmlDeviceGetPowerUsage, gpu)
        rates = self._query(nvml.nvmlDeviceGetUtilizationRates, gpu)
        memory = self._query(nvml.nvmlDeviceGetMemoryInfo, gpu)
        received, sent = self._links()
        return GpuReading(
            busy=None if rates is None else rates.gpu / 100,
            memory=None if memory is None else int(memory.used),
            sm_clock=self._query(nvml.nvmlDeviceGetClockInfo, gpu, nvml.NVML_CLOCK_SM),
            memory_clock=self._query(nvml.nvmlDeviceGetClockInfo, gpu, nvml.NVML_CLOCK_MEM),
            power=None if power is None else power / 1000,  # milliwatts
            pcie_received=self._pcie(nvml.NVML_PCIE_UTIL_RX_BYTES),
            pcie_sent=self._pcie(nvml.NVML_PCIE_UTIL_TX_BYTES),
            nvlink_received=received,
            nvlink_sent=sent,
        )

    def _pcie(self, way: int) -> float | None:
        kilobytes = self._query(self._nvml.nvmlDeviceGetPcieThroughput, self._handle, way)
        return None if kilobytes is None else kilobytes * 1000

    def _links(self) -> Iterable[int | None]:
        """Bytes that all NVLinks have received and sent since the driver was loaded."""
        nvml = self._nvml
        fields = [
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS),
            (nvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS),
        ]
        readings = self._query(nvml.nvmlDeviceGetFieldValues, self._handle, fields)
        if readings is None:
            return None, None
        return [
            int(reading.value.ullVal) * 1024 if reading.nvmlReturn == nvml.NVML_SUCCESS else None
            for reading in readings
        ]

    def _query(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        """NVML's answer; None if this GPU does not (or no longer) report it."""
        try:
            return ask(*arguments)
        except self._nvml.NVMLError:
            return None
