"""The links between the accelerators of this node, for profiles."""

from __future__ import annotations

import os

from podium.compliance.judging.systems.probe.accelerators import device_links
from podium.reference_runs.profiling.profile import DeviceLink


def topology_for(device: str) -> tuple[DeviceLink, ...]:
    """The links, read by the first rank; none for a run on a CPU."""
    if device == "cpu" or os.environ.get("RANK", "0") != "0":
        return ()
    return tuple(
        DeviceLink(first=pair.first, second=pair.second, link=pair.link) for pair in device_links()
    )
