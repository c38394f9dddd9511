"""The columns of the official summary's tables, in its order."""

from __future__ import annotations

from podium.compliance.judging.inputs.benchmark_names import benchmark_names
from podium.rules.model.round import Round

HEAD = (
    "division",
    "availability",
    "submitter",
    "system",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_count",
    "accelerator_model_name",
    "accelerators_count",
    "framework",
    "notes",
    "private_id",
)
TAIL = ("details_url", "code_url")

WEAK = ("number_of_models", "instance_scale", "time_to_train_all")
DETAILS = (
    "time_to_train",
    "Energy",
    "GBS",
    "samples_to_converge",
    "RCP",
    "rcp_scaling_factor",
)


def columns_of(rules: Round) -> dict[str, tuple[str, ...]]:
    """The columns of the tables strong, weak and detailed."""
    order = {name: place for place, name in enumerate(rules.package.columns)}
    names = sorted(benchmark_names(rules), key=lambda name: order.get(name, len(order)))
    return {
        "strong": (*HEAD, *names, *TAIL),
        "weak": (*HEAD, *(f"{name}:{what}" for name in names for what in WEAK), *TAIL),
        "detailed": (*HEAD, *(f"{name}:{what}" for name in names for what in DETAILS), *TAIL),
    }
