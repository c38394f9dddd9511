"""The work of `podium profile read` and `podium profile compare`, and their files."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from podium.compliance.cli.running.profile_files import json_text, table, write
from podium.compliance.files.atomic import refuse_occupied
from podium.reference_runs.profiling.studies.difference import difference_of, difference_text
from podium.reference_runs.profiling.traces.analysis import analyzed_files
from podium.reference_runs.profiling.traces.text import traces_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def read_traces(paths: Sequence[Path], output: Path | None) -> None:
    """Analyze traces, print the tables and write them."""
    if output is not None:
        refuse_occupied(output)
    report = analyzed_files(paths)
    if output is not None:
        data = asdict(report)
        files = {
            "traces.json": json_text(data),
            "collectives.csv": table(data["collectives"]),
        }
        for name in ("kernels", "launchers", "copies", "annotations"):
            rows = [{"rank": rank["rank"], **row} for rank in data["ranks"] for row in rank[name]]
            files[f"{name}.csv"] = table(rows)
        write(output, files)
    typer.echo(traces_text(report))


def compare_profiles(before: str, after: str, output: Path | None) -> None:
    """Compare two profiles, print the differences and write them."""
    if output is not None:
        refuse_occupied(output)
    difference = difference_of(before, after)
    if output is not None:
        data = asdict(difference)
        rows = [
            {"table": name, **row}
            for name in ("levels", "parts", "idle", "layers", "operators", "kernels")
            for row in data[name]
        ]
        write(output, {"difference.json": json_text(data), "difference.csv": table(rows)})
    typer.echo(difference_text(difference))
