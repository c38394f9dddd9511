"""`podium rules drift`: compare the tables with an installed official checker."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.console import send, width, write_whole
from podium.compliance.tools.drift.compare import DriftScope, compare
from podium.compliance.tools.drift.draft import draft
from podium.compliance.tools.drift.text import drift_json, drift_text
from podium.rules.catalogue import normal_name


def run(
    wanted: tuple[str, str, str],
    python: str | None,
    jobs: int,
    file: Path | None,
    form: str,
    output: Path | None,
) -> bool:
    """Compare, print and draft; return whether the two disagree."""
    usage, name, benchmark = wanted
    name = normal_name(name) if name else ""
    if file is not None and (not name or benchmark):
        raise UsageFault("--draft needs --round and cannot be used with --benchmark")
    made = compare(DriftScope(usage, name, benchmark), python, jobs)
    if file is not None:
        write_whole(file, draft(made, usage or "training", name))
    send(drift_json(made) if form == "json" else drift_text(made, width()), output)
    return bool(made.rows)
