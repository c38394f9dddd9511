"""Disks and network cards, as the kernel lists them below `sys`."""

from __future__ import annotations

import re
from pathlib import Path

from podium.compliance.judging.systems.probe.finding import ProbedFields, decimal_size, grouped
from podium.compliance.judging.systems.probe.host import read_line

SECTOR = 512
"""Bytes in which the kernel counts the size of every disk, whatever the disk's own sectors."""

# Neither loop, ram, dm nor md: they are no disks, or are made of those listed
_DISK = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|mmcblk\d+)")

ACCELERATOR_CLASSES = ("0x0302", "0x1200")
"""PCI classes of 3D controllers and processing accelerators."""


def probe_disks(root: Path) -> ProbedFields:
    """The disks of the node itself; network storage is for a person to tell."""
    found = ProbedFields()
    disks = [disk for folder in sorted(root.glob("sys/block/*")) if (disk := _disk(folder))]
    if not disks:
        found.notes.append("no disk of its own is visible here")
        return found
    kinds = sorted({kind for kind, _ in disks if kind}, key=_rank)
    if any(not kind for kind, _ in disks):
        found.notes.append("a virtual disk does not tell what kind of disk it is")
    else:
        found.set("host_storage_type", " + ".join(kinds))
    sizes = [f"{size} {kind}".rstrip() for kind, size in disks]
    found.set("host_storage_capacity", grouped(sizes))
    return found


def _disk(folder: Path) -> tuple[str, str] | None:
    """(kind, size) of a disk, its kind empty where it is virtual; None for what is no disk."""
    sectors = read_line(folder / "size")
    removable = read_line(folder / "removable") == "1"
    if not (_DISK.fullmatch(folder.name) and sectors.isdigit() and int(sectors)) or removable:
        return None
    turns = read_line(folder / "queue/rotational") == "1"
    size = decimal_size(int(sectors) * SECTOR)
    # What a virtual disk says of rotation tells nothing of the disk behind it
    if folder.name.startswith(("vd", "xvd")):
        return "", size
    return "NVMe SSD" if folder.name.startswith("nvme") else "HDD" if turns else "SSD", size


def _rank(kind: str) -> int:
    return ("NVMe SSD", "SSD", "HDD").index(kind)


def probe_network(root: Path) -> ProbedFields:
    """The network cards of the node, InfiniBand first; how nodes are wired, no card can tell."""
    found = ProbedFields()
    ports = _infiniband(root) + _ethernet(root)
    if not ports:
        found.notes.append("no network card of its own is visible here")
        return found
    found.set("host_networking", " + ".join(dict.fromkeys(ports)))
    found.set("host_network_card_count", grouped(ports))
    return found


def _infiniband(root: Path) -> list[str]:
    """Active ports whose link layer is InfiniBand; those of Ethernet are listed as such."""
    found = []
    for port in sorted(root.glob("sys/class/infiniband/*/ports/*")):
        rate = re.match(r"(\d+)(?:\.\d+)? Gb/sec(?: \(\w+ (\w+)\))?", read_line(port / "rate"))
        layer, state = read_line(port / "link_layer"), read_line(port / "state")
        if rate and layer == "InfiniBand" and "ACTIVE" in state:
            found.append(f"{rate[1]}Gb/s InfiniBand{f' {rate[2]}' if rate[2] else ''}")
    return found


def _ethernet(root: Path) -> list[str]:
    """Cards with a device below them: bridges, tunnels and loopback have none."""
    found = []
    for card in sorted(root.glob("sys/class/net/*")):
        speed = read_line(card / "speed")
        # Type 1 is Ethernet: IP over InfiniBand has another, and its port is counted already
        if not (card / "device").exists() or read_line(card / "type") != "1":
            continue
        # The kernel writes -1, or nothing, for a card without a link
        known = speed.isdigit() and int(speed) > 0
        found.append(f"{int(speed) / 1000:g}GbE" if known else "Ethernet")
    return found


def accelerators_on_the_bus(root: Path) -> int | None:
    """Devices on the PCI bus that are made to compute; None where the bus is not visible."""
    classes = [read_line(path) for path in root.glob("sys/bus/pci/devices/*/class")]
    if not classes:
        return None
    return sum(text.startswith(ACCELERATOR_CLASSES) for text in classes)
