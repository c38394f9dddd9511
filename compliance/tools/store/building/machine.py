"""The columns of a store about the system of a result."""

from __future__ import annotations

from typing import Any

from podium.compliance.judging.results.result import Result
from podium.compliance.tools.store.building.spelling import category_name, chip_of


def machine_of(result: Result) -> dict[str, Any]:
    """The system of a result; its size is from the logs if the description does not have it."""
    described = result.description
    logged = result.runs[0].facts
    nodes, chips, chip, category, framework = logged.nodes, None, "", logged.status, ""
    accelerators: int | None = None
    if described is not None:
        nodes = described.nodes if described.nodes is not None else nodes
        category = described.category or described.status
        framework = described.framework
        # HPC systems may only have processors
        counted = described.accelerators or described.processors
        accelerators = described.accelerators
        chips = counted
        chip = (
            described.accelerator_model_name
            if accelerators
            else described.host_processor_model_name
        )
    if not chips:
        stated = logged.run.accelerators
        chips = int(stated) if stated else None
    return {
        "nodes": nodes,
        "chips": chips,
        "chip": chip_of(chip) if accelerators else chip,
        "chip_as_written": chip,
        "system_name": (described.system_name if described else None) or logged.platform,
        "category": category_name(category) if category else None,
        "category_as_written": category or None,
        "framework": framework,
    }
