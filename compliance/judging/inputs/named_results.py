"""Folders whose results are those that their podium.toml names."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.boundary import bounded
from podium.compliance.judging.inputs.changes import CONFIG
from podium.compliance.judging.inputs.discover import PathKind, kinds_of, targets
from podium.compliance.judging.inputs.round_selection import RoundRequest, config_bytes
from podium.logging_spec.limits import read_toml


def names_results(folder: Path, request: RoundRequest) -> bool:
    """Whether the results of a folder are those that its podium.toml names.

    A folder that holds logs to judge is judged as it is. Within a boundary podium.toml names no
    files. Raises UsageFault where it cannot be read.
    """
    if bounded() or not _has_results(folder / CONFIG):
        return False
    try:
        found = targets(kinds_of([folder], request), empty=True)
    except NothingToJudge:
        return True
    return not any(each.kind is PathKind.LOG for each in found)


def _has_results(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        return bool(read_toml(config_bytes(file).decode()).get("results"))
    except (OSError, ValueError) as error:
        raise UsageFault(f"{file} cannot be read: {error}") from None
