"""Refuse to bundle a submission without results, such as the skeleton of `podium init`."""

from __future__ import annotations

import os
from pathlib import Path

from podium.compliance.judging.inputs.round_selection import config_bytes
from podium.compliance.judging.inputs.submission_folders import refuse_misnamed
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.logging_spec.limits import read_toml

CONFIG, PACKED = "podium.toml", "packed"


def refuse_skeleton(tree: Path) -> None:
    """Raise Refused for the folder of a submission without any log of a run.

    Raises NothingToJudge if its folders have other names. Any other folder is bundled unchanged.
    """
    refuse_misnamed(tree)
    is_submission = any((tree / name).exists() for name in (CONFIG, "results", "systems"))
    if is_submission and not any(tree.glob("results/**/result*")):
        raise Refused(f"{tree} has no results; {_advice(tree)}")


def _advice(tree: Path) -> str:
    config = tree / CONFIG
    if not config.is_file():
        return "put logs into results/<system>/<benchmark>/result_<i>.txt"
    try:
        fields = read_toml(config_bytes(config).decode())
    except (OSError, ValueError):
        fields = {}
    target, submitter = fields.get("into", PACKED), fields.get("submitter", tree.resolve().name)
    packed = Path(os.path.normpath(tree / str(target) / str(submitter)))
    if (packed / "results").is_dir():
        return f"bundle the packed tree instead: {packed}"
    return f"run `podium pack {tree}` first, then bundle {packed}"
