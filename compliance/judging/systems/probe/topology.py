"""The links between the accelerators of a node, from the matrix of `nvidia-smi topo -m`."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from podium.compliance.text.words import plural

_LINK = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_MEANINGS = {
    "PIX": "one PCIe bridge",
    "PXB": "several PCIe bridges",
    "PHB": "the PCIe host bridge",
    "NODE": "PCIe host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes",
}


class DeviceLink(NamedTuple):
    """The shortest link of two accelerators, such as NV18 (18 NVLinks) or SYS."""

    first: int
    second: int
    link: str


def links_in(matrix: str) -> list[DeviceLink]:
    """The pairs of GPUs in the matrix; empty if it cannot be read."""
    pairs: list[DeviceLink] = []
    for line in _COLORS.sub("", matrix).splitlines():
        cells = line.split()
        row = re.fullmatch(r"GPU(\d+)", cells[0]) if len(cells) > 1 else None
        # The head begins with the name of a GPU as well
        if row is None or not _LINK.fullmatch(cells[1]):
            continue
        number = int(row[1])
        links = cells[1 : number + 1]
        if len(links) < number or not all(map(_LINK.fullmatch, links)):
            return []
        pairs += [DeviceLink(other, number, link) for other, link in enumerate(links)]
    return pairs


def summary(links: list[DeviceLink]) -> str:
    """The topology in a few words, for a system description; empty without pairs."""
    kinds = Counter(link.link for link in links).most_common()
    if len(kinds) == 1:
        return f"{_name(kinds[0][0])}, all pairs"
    return "; ".join(f"{_name(kind)}, {plural(count, 'pair')}" for kind, count in kinds)


def _name(kind: str) -> str:
    return _MEANINGS.get(kind) or f"{kind.removeprefix('NV')} NVLinks"
