"""The skeleton that `podium init` writes holds no results: what is bundled is the packed tree."""

from __future__ import annotations

import os
from pathlib import Path

from podium.compliance.judging.inputs.round_selection import config_bytes
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.logging_spec.limits import read_toml

CONFIG, PACKED = "podium.toml", "packed"


def refuse_skeleton(tree: Path) -> None:
    """Raise Refused for a submission's folder without any log of a run.

    Folders that are nothing of a submission are bundled as they are.
    """
    begun = any((tree / name).exists() for name in (CONFIG, "results", "systems"))
    if begun and not any(tree.glob("results/**/result*")):
        raise Refused(f"{tree} holds no results; {_advice(tree)}")


def _advice(tree: Path) -> str:
    config = tree / CONFIG
    if not config.is_file():
        return "put logs into results/<system>/<benchmark>/result_<i>.txt"
    try:
        fields = read_toml(config_bytes(config).decode())
    except (OSError, ValueError):
        fields = {}
    into, submitter = fields.get("into", PACKED), fields.get("submitter", tree.resolve().name)
    packed = Path(os.path.normpath(tree / str(into) / str(submitter)))
    if (packed / "results").is_dir():
        return f"the packed tree is {packed}: bundle that"
    return f"`podium pack {tree}` makes the tree to bundle, {packed}"
