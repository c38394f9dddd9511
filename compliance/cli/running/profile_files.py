"""Files of profiles, studies, plans and kernels: JSON, pages, tables, written atomically."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from podium.reference_runs.engine.setting import Setting
    from podium.reference_runs.profiling.profile import Profile
    from podium.reference_runs.profiling.wanted import ProfileRequest


class Call(NamedTuple):
    """The subject of a profile: the trainer, its setting, changes to its config, the depth."""

    trainer: str
    setting: Setting
    changes: Mapping[str, str]
    wanted: ProfileRequest
    sizes: tuple[int, ...] = ()
    """The batch sizes of a batch study; empty for those around the trainer's own."""


def quiet_recorder() -> None:
    """Silence the messages of torch's profiler, which is not loaded yet."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")


def keep_profile(profile: Profile, folder: Path | None) -> None:
    """Write the results of a profile so far."""
    if folder is None:
        return
    from podium.compliance.reporting.profiled.page import render

    data = asdict(profile)
    files = {
        "profile.json": json_text(data),
        "profile.html": render(data),
        "layers.csv": table(data["layers"]),
        "operators.csv": table(
            [{k: v for k, v in row.items() if k != "kernels"} for row in data["operators"]]
        ),
        "kernels.csv": table(
            [
                {"module": row["module"], "phase": row["phase"], "operator": row["name"], **kernel}
                for row in data["operators"]
                for kernel in row["kernels"]
            ]
        ),
        "usage.csv": table([_flat(row) for row in data["usage"]]),
    }
    write(folder, files)


def _flat(usage: Mapping[str, Any]) -> dict[str, Any]:
    gpu = usage["gpu"] or {}
    columns = {name: value for name, value in usage.items() if name != "gpu"}
    return columns | {f"gpu_{name}": value for name, value in gpu.items()}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, which is made if it is missing; raises UsageFault."""
    from podium.compliance.errors import UsageFault
    from podium.compliance.files.atomic import draft_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageFault(f"{folder} cannot be made: {error.strerror}") from None
    for name, text in files.items():
        if text:
            with draft_file(folder / name) as stream:
                stream.write(text.encode())


def json_text(data: Mapping[str, Any]) -> str:
    """Data as the JSON of the files."""
    return json.dumps(data, indent=1) + "\n"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same columns as CSV; an empty string without rows."""
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
