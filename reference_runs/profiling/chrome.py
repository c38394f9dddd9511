"""Traces that viewers can still open, and that tools which compare ranks can read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 50_000_000
"""Bytes of a trace, at most."""


def name_rank(path: Path) -> None:
    """Have a trace say which rank it is of, and of how many, where torch has not.

    Holistic Trace Analysis looks for it near the file's begin; torch leaves it out where a process
    has joined no others.
    """
    text = path.read_text(encoding="utf-8")
    if '"distributedInfo"' in text:
        return
    info = json.dumps({"rank": 0, "world_size": 1})
    path.write_text(text.replace("{", f'{{"distributedInfo": {info},', 1), encoding="utf-8")


def shortened(path: Path, largest: int = LARGEST) -> int:
    """Leave out a trace's shortest events until it fits; returns how many.

    What names processes and threads stays, and so do the marks of steps.
    """
    if path.stat().st_size <= largest:
        return 0
    trace = json.loads(path.read_text(encoding="utf-8"))
    events: list[dict[str, Any]] = trace["traceEvents"]
    texts = [len(json.dumps(event)) + 1 for event in events]
    head = len(json.dumps({**trace, "traceEvents": [], "podium_left_out": len(events)}))
    room, kept = largest - head, set()
    for at in sorted(range(len(events)), key=lambda at: -_weight(events[at])):
        room -= texts[at] + 1
        if room < 0:
            break
        kept.add(at)
    trace["podium_left_out"] = len(events) - len(kept)
    trace["traceEvents"] = [event for at, event in enumerate(events) if at in kept]
    path.write_text(json.dumps(trace), encoding="utf-8")
    return int(trace["podium_left_out"])


def _weight(event: dict[str, Any]) -> float:
    if event.get("ph") == "M" or str(event.get("name", "")).startswith("ProfilerStep"):
        return float("inf")
    return float(event.get("dur", 0))
