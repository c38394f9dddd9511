"""The columns of a store about the system of a result."""

from __future__ import annotations

from typing import Any

from podium.compliance.judging.results.result import Result
from podium.compliance.tools.store.building.spelling import category_name, chip_of


def machine_of(result: Result) -> dict[str, Any]:
    """The system of a result; its size is from the logs if the description does not have it."""
    description = result.description
    logged = result.runs[0].facts
    nodes, chips, chip, category, framework = logged.nodes, None, "", logged.status, ""
    accelerators: int | None = None
    if description is not None:
        nodes = description.number_of_nodes if description.number_of_nodes is not None else nodes
        category = description.category or description.status
        framework = description.framework
        # HPC systems may only have processors
        counted = description.accelerators or description.processors
        accelerators = description.accelerators
        chips = counted
        chip = (
            description.accelerator_model_name
            if accelerators
            else description.host_processor_model_name
        )
    if not chips:
        logged_count = logged.run.accelerators
        chips = int(logged_count) if logged_count else None
    return {
        "nodes": nodes,
        "chips": chips,
        "chip": chip_of(chip) if accelerators else chip,
        "chip_as_written": chip,
        "system_name": (description.system_name if description else None) or logged.platform,
        "category": category_name(category) if category else None,
        "category_as_written": category or None,
        "framework": framework,
    }
