"""Folders whose podium.toml names their results."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.boundary import bounded
from podium.compliance.judging.inputs.changes import CONFIG
from podium.compliance.judging.inputs.config_fields import refuse_unknown
from podium.compliance.judging.inputs.discover import PathKind, kinds_of, targets
from podium.compliance.judging.inputs.round_selection import RoundRequest, config_bytes
from podium.logging_spec.limits import read_toml


def names_results(folder: Path, request: RoundRequest) -> bool:
    """Whether the podium.toml of a folder names its results.

    A folder with logs is checked as it is. Within a boundary, podium.toml cannot name files. Raises
    UsageFault if it cannot be read.
    """
    file = folder / CONFIG
    if not file.is_file() or bounded():
        return False
    try:
        text = config_bytes(file).decode()
        config = read_toml(text)
    except (OSError, ValueError) as error:
        raise UsageFault(f"{file} cannot be read: {error}") from None
    # The table of results may be the one that is misspelled
    refuse_unknown(config, text, str(file))
    if not config.get("results"):
        return False
    files = targets(kinds_of([folder], request), empty=True)
    return not any(target.kind is PathKind.LOG for target in files)
