"""Chrome traces: small enough for viewers, and readable by tools that compare ranks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 50_000_000
"""Maximum size of a trace in bytes."""


def name_rank(path: Path) -> None:
    """Add the rank and the number of ranks to a trace, if torch has not done so.

    Holistic Trace Analysis expects them near the beginning of the file; torch omits them for a
    process that has not joined others.
    """
    text = path.read_text(encoding="utf-8")
    if '"distributedInfo"' in text:
        return
    info = json.dumps({"rank": 0, "world_size": 1})
    path.write_text(text.replace("{", f'{{"distributedInfo": {info},', 1), encoding="utf-8")


def shortened(path: Path, largest: int = LARGEST) -> int:
    """Remove the shortest events of a trace until it fits; returns their number.

    The names of processes and threads remain, and so do the marks of steps.
    """
    if path.stat().st_size <= largest:
        return 0
    trace = json.loads(path.read_text(encoding="utf-8"))
    events: list[dict[str, Any]] = trace["traceEvents"]
    texts = [len(json.dumps(event)) + 1 for event in events]
    head = len(json.dumps({**trace, "traceEvents": [], "podium_left_out": len(events)}))
    room, kept = largest - head, set()
    for index in sorted(range(len(events)), key=lambda index: -_weight(events[index])):
        room -= texts[index] + 1
        if room < 0:
            break
        kept.add(index)
    trace["podium_left_out"] = len(events) - len(kept)
    trace["traceEvents"] = [event for index, event in enumerate(events) if index in kept]
    path.write_text(json.dumps(trace), encoding="utf-8")
    return int(trace["podium_left_out"])


def _weight(event: dict[str, Any]) -> float:
    if event.get("ph") == "M" or str(event.get("name", "")).startswith("ProfilerStep"):
        return float("inf")
    return float(event.get("dur", 0))
