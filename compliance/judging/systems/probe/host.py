"""Processors, memory and operating system, by psutil, py-cpuinfo and the kernel's own files."""

from __future__ import annotations

import platform
from pathlib import Path

from podium.compliance.files.optional_imports import needed
from podium.compliance.judging.systems.fields import CORES, VCPUS
from podium.compliance.judging.systems.probe.finding import Found, binary_size

EXTRA = "probe"


def probe_host(root: Path) -> Found:
    """What the host is; `root` is where its `sys` lies."""
    psutil = needed("psutil", "probing a machine", EXTRA)
    found = Found()
    _processors(found, psutil, root)
    found.set("host_memory_capacity", binary_size(psutil.virtual_memory().total))
    found.set("operating_system", _system())
    return found


def _processors(found: Found, psutil: object, root: Path) -> None:
    cpuinfo = needed("cpuinfo", "probing a machine", EXTRA)
    found.set("host_processor_model_name", cpuinfo.get_cpu_info().get("brand_raw"))
    sockets = _sockets(root)
    threads: int | None = psutil.cpu_count()  # type: ignore[attr-defined]  # psutil has no types
    cores: int | None = psutil.cpu_count(logical=False)  # type: ignore[attr-defined]
    if sockets is None:
        found.notes.append("the number of processors cannot be read here")
    else:
        found.set("host_processors_per_node", sockets)
        # The description has cores of one processor; psutil counts those of all
        if cores:
            found.set(CORES, cores // sockets)
        if threads:
            found.set(VCPUS, threads // sockets)
    found.set("host_processor_frequency", _frequency(psutil))
    found.set("host_processor_caches", _caches(root))


def _sockets(root: Path) -> int | None:
    """Processors, counted by the packages that the kernel reports; None where it reports none."""
    packages = {
        text
        for path in root.glob("sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id")
        if (text := read_line(path)) and text.isdigit()
    }
    return len(packages) or None


def _frequency(psutil: object) -> str | None:
    try:
        clock = psutil.cpu_freq()  # type: ignore[attr-defined]  # psutil has no types
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
