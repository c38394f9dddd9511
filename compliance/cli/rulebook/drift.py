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
    scope: tuple[str, str, str],
    python: str | None,
    jobs: int,
    file: Path | None,
    output_format: str,
    output: Path | None,
) -> bool:
    """Compare, print and draft; return whether the two disagree."""
    usage, name, benchmark = scope
    name = normal_name(name) if name else ""
    if file is not None and (not name or benchmark):
        raise UsageFault("--draft needs --round and cannot be used with --benchmark")
    comparison = compare(DriftScope(usage, name, benchmark), python, jobs)
    if file is not None:
        write_whole(file, draft(comparison, usage or "training", name))
    send(
        drift_json(comparison) if output_format == "json" else drift_text(comparison, width()),
        output,
    )
    return bool(comparison.rows)
