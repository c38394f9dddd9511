"""Processors, memory and operating system, by psutil, py-cpuinfo and the kernel's own files.

Without these two libraries the fields that need them stay empty, and one note says so.
"""

from __future__ import annotations

import platform
from importlib import import_module
from pathlib import Path
from typing import Any

from podium.compliance.files.optional_imports import install_command
from podium.compliance.judging.systems.fields import CORES, VCPUS
from podium.compliance.judging.systems.probe.finding import ProbedFields, binary_size

EXTRA = "probe"


def probe_host(root: Path) -> ProbedFields:
    """What the host is; `root` is where its `sys` lies."""
    found = ProbedFields()
    psutil, cpuinfo = _library("psutil"), _library("cpuinfo")
    if psutil is None or cpuinfo is None:
        found.notes.append(_not_probed(psutil, cpuinfo))
    if cpuinfo is not None:
        found.set("host_processor_model_name", cpuinfo.get_cpu_info().get("brand_raw"))
    if psutil is not None:
        found.set("host_memory_capacity", binary_size(psutil.virtual_memory().total))
        found.set("host_processor_frequency", _frequency(psutil))
    _count_processors(found, psutil, root)
    found.set("host_processor_caches", _caches(root))
    found.set("operating_system", _system())
    return found


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _not_probed(psutil: Any, cpuinfo: Any) -> str:
    lacking = [
        name for name, library in (("psutil", psutil), ("py-cpuinfo", cpuinfo)) if library is None
    ]
    are = "are" if len(lacking) > 1 else "is"
    return (
        f"{' and '.join(lacking)} {are} not installed, so some fields are not probed: "
        f"{install_command(EXTRA)}"
    )


def _count_processors(found: ProbedFields, psutil: Any, root: Path) -> None:
    sockets = _sockets(root)
    threads: int | None = psutil.cpu_count() if psutil else None
    cores: int | None = psutil.cpu_count(logical=False) if psutil else None
    if sockets is None:
        found.notes.append("the number of processors cannot be read here")
    else:
        found.set("host_processors_per_node", sockets)
        # The description has cores of one processor; psutil counts those of all
        if cores:
            found.set(CORES, cores // sockets)
        if threads:
            found.set(VCPUS, threads // sockets)


def _sockets(root: Path) -> int | None:
    """Processors, counted by the packages that the kernel reports; None where it reports none."""
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
    """The caches that the first processor's first core sees, by level."""
    seen = []
    for folder in sorted(root.glob("sys/devices/system/cpu/cpu0/cache/index[0-9]*")):
        level, size = read_line(folder / "level"), read_line(folder / "size")
        kind = {"Data": "d", "Instruction": "i"}.get(read_line(folder / "type"), "")
        if level and size:
            seen.append(f"L{level}{kind}: {size}")
    return ", ".join(seen)


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return f"{platform.system()} {platform.release()}"


def read_line(path: Path) -> str:
    """The first line of one of the kernel's files; empty where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(4096).strip()
    except OSError:
        return ""
