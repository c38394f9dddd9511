"""The host: processors, memory, operating system, disks, network cards and frameworks.

The values come from psutil, py-cpuinfo, the metadata of installed distributions and the files of
the kernel; no framework is imported. Without psutil or py-cpuinfo the fields that need them stay
empty, and one note says so.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from podium.compliance.files.optional_imports import install_command
from podium.compliance.files.processes import no_imports_from_here
from podium.compliance.judging.systems.fields import CORES, VCPUS
from podium.compliance.judging.systems.probe.finding import (
    ProbedFields,
    binary_size,
    decimal_size,
    grouped,
)

EXTRA = "probe"


def probe_host(root: Path) -> ProbedFields:
    """The properties of the host; `root` is the folder of its `sys`."""
    result = ProbedFields()
    psutil, cpuinfo = _library("psutil"), _library("cpuinfo")
    if psutil is None or cpuinfo is None:
        result.notes.append(_not_probed(psutil, cpuinfo))
    if cpuinfo is not None:
        # It starts Python processes, and from 3.14 on these start others with `-c`
        with no_imports_from_here():
            result.set("host_processor_model_name", cpuinfo.get_cpu_info().get("brand_raw"))
    if psutil is not None:
        result.set("host_memory_capacity", binary_size(psutil.virtual_memory().total))
        result.set("host_processor_frequency", _frequency(psutil))
    _count_processors(result, psutil, root)
    result.set("host_processor_caches", _caches(root))
    result.set("operating_system", _system())
    return result


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _not_probed(psutil: Any, cpuinfo: Any) -> str:
    missing = [
        name for name, library in (("psutil", psutil), ("py-cpuinfo", cpuinfo)) if library is None
    ]
    verb = "are" if len(missing) > 1 else "is"
    return (
        f"{' and '.join(missing)} {verb} not installed, so some fields are not probed: "
        f"{install_command(EXTRA)}"
    )


def _count_processors(result: ProbedFields, psutil: Any, root: Path) -> None:
    sockets = _sockets(root)
    threads: int | None = psutil.cpu_count() if psutil else None
    cores: int | None = psutil.cpu_count(logical=False) if psutil else None
    if sockets is None:
        result.notes.append("the number of processors cannot be read")
    else:
        result.set("host_processors_per_node", sockets)
        # The description has the cores of one processor; psutil counts the cores of all
        if cores:
            result.set(CORES, cores // sockets)
        if threads:
            result.set(VCPUS, threads // sockets)


def _sockets(root: Path) -> int | None:
    """Number of processors, which the kernel calls packages; None if it reports none."""
    packages = {
        text
        for path in root.glob("sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id")
        if (text := read_line(path)) and text.isdigit()
    }
    return len(packages) or None


def _frequency(psutil: Any) -> str | None:
    try:
        clock = psutil.cpu_freq()
    except (OSError, RuntimeError, NotImplementedError):
        return None
    fastest = clock.max or clock.current if clock else 0
    return f"{fastest:.0f}MHz" if fastest else None


def _caches(root: Path) -> str:
    """The caches of the first core of the first processor, by level."""
    caches = []
    for folder in sorted(root.glob("sys/devices/system/cpu/cpu0/cache/index[0-9]*")):
        level, size = read_line(folder / "level"), read_line(folder / "size")
        kind = {"Data": "d", "Instruction": "i"}.get(read_line(folder / "type"), "")
        if level and size:
            caches.append(f"L{level}{kind}: {size}")
    return ", ".join(caches)


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return f"{platform.system()} {platform.release()}"


def read_line(path: Path) -> str:
    """The first line of one of the kernel's files; empty if it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(4096).strip()
    except OSError:
        return ""


SECTOR = 512
"""Bytes in the kernel's unit of disk sizes, which does not depend on the sectors of the disk."""

# Neither loop, ram, dm nor md: they are not disks, or consist of the listed disks
_DISK = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|mmcblk\d+)")

ACCELERATOR_CLASSES = ("0x0302", "0x1200")
"""PCI classes of 3D controllers and processing accelerators."""


def probe_disks(root: Path) -> ProbedFields:
    """The local disks of the node; a person must add network storage."""
    result = ProbedFields()
    disks = [disk for folder in sorted(root.glob("sys/block/*")) if (disk := _disk(folder))]
    if not disks:
        result.notes.append("no local disk is visible")
        return result
    kinds = sorted({kind for kind, _ in disks if kind}, key=_rank)
    if any(not kind for kind, _ in disks):
        result.notes.append("the kind of a virtual disk is not known")
    else:
        result.set("host_storage_type", " + ".join(kinds))
    sizes = [f"{size} {kind}".rstrip() for kind, size in disks]
    result.set("host_storage_capacity", grouped(sizes))
    return result


def _disk(folder: Path) -> tuple[str, str] | None:
    """(kind, size) of a disk, with an empty kind if it is virtual; None if it is not a disk."""
    sectors = read_line(folder / "size")
    removable = read_line(folder / "removable") == "1"
    if not (_DISK.fullmatch(folder.name) and sectors.isdigit() and int(sectors)) or removable:
        return None
    turns = read_line(folder / "queue/rotational") == "1"
    size = decimal_size(int(sectors) * SECTOR)
    # The rotation flag of a virtual disk says nothing about the physical disk
    if folder.name.startswith(("vd", "xvd")):
        return "", size
    return "NVMe SSD" if folder.name.startswith("nvme") else "HDD" if turns else "SSD", size


def _rank(kind: str) -> int:
    return ("NVMe SSD", "SSD", "HDD").index(kind)


def probe_network(root: Path) -> ProbedFields:
    """The network cards of the node, InfiniBand first; the topology cannot be probed."""
    result = ProbedFields()
    ports = _infiniband(root) + _ethernet(root)
    if not ports:
        result.notes.append("no network card is visible")
        return result
    result.set("host_networking", " + ".join(dict.fromkeys(ports)))
    result.set("host_network_card_count", grouped(ports))
    return result


def _infiniband(root: Path) -> list[str]:
    """Active ports whose link layer is InfiniBand; Ethernet ports are listed separately."""
    ports = []
    for port in sorted(root.glob("sys/class/infiniband/*/ports/*")):
        rate = re.match(r"(\d+)(?:\.\d+)? Gb/sec(?: \(\w+ (\w+)\))?", read_line(port / "rate"))
        layer, state = read_line(port / "link_layer"), read_line(port / "state")
        if rate and layer == "InfiniBand" and "ACTIVE" in state:
            ports.append(f"{rate[1]}Gb/s InfiniBand{f' {rate[2]}' if rate[2] else ''}")
    return ports


def _ethernet(root: Path) -> list[str]:
    """Cards with a physical device: bridges, tunnels and loopback have none."""
    cards = []
    for card in sorted(root.glob("sys/class/net/*")):
        speed = read_line(card / "speed")
        # Type 1 is Ethernet: IP over InfiniBand has another type, and its port is counted already
        if not (card / "device").exists() or read_line(card / "type") != "1":
            continue
        # The kernel writes -1, or nothing, for a card without a link
        has_speed = speed.isdigit() and int(speed) > 0
        cards.append(f"{int(speed) / 1000:g}GbE" if has_speed else "Ethernet")
    return cards


def accelerators_on_the_bus(root: Path) -> int | None:
    """Number of accelerators on the PCI bus; None if the bus is not visible."""
    classes = [read_line(path) for path in root.glob("sys/bus/pci/devices/*/class")]
    if not classes:
        return None
    return sum(text.startswith(ACCELERATOR_CLASSES) for text in classes)


_FRAMEWORKS = {
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "paddlepaddle-gpu": "PaddlePaddle",
    "mxnet": "MXNet",
}
_STACK = {"CUDNN_VERSION": "cuDNN", "NCCL_VERSION": "NCCL", "OPENMPI_VERSION": "Open MPI"}
"""Variables that vendors set in their containers."""


def probe_software(environment: Mapping[str, str]) -> ProbedFields:
    """The framework if exactly one is installed, and the versions that containers name."""
    result = ProbedFields()
    installed = [f"{title} {number}" for title, number in _installed()]
    # If several are installed, only the submitter knows which one trained
    if len(installed) == 1:
        result.set("framework", installed[0])
    elif installed:
        result.notes.append(f"several frameworks are installed: {', '.join(installed)}")
    data = [f"{title} {environment[name]}" for name, title in _STACK.items() if name in environment]
    result.set("other_software_stack", ", ".join([*data, f"Python {platform.python_version()}"]))
    return result


def _installed() -> list[tuple[str, str]]:
    versions = []
    for name, title in _FRAMEWORKS.items():
        try:
            versions.append((title, version(name)))
        except PackageNotFoundError:
            continue
    return versions
