"""The columns of the official summary's tables, in its order."""

from __future__ import annotations

from podium.rules.round import Round

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

_ORDER = (
    "llama31_8b",
    "bert",
    "dlrm",
    "dlrm_dcnv2",
    "gpt3",
    "gnmt",
    "maskrcnn",
    "minigo",
    "resnet",
    "ssd",
    "retinanet",
    "transformer",
    "rnnt",
    "unet3d",
    "flux1",
    "stable_diffusion",
    "llama2_70b_lora",
    "gnn",
    "rgat",
    "llama31_405b",
    "gpt_oss_20b",
    "deepseekv3_671b",
    "qwen35_397b_grpo",
    "dlrmv4",
    "cosmoflow",
    "deepcam",
    "oc20",
    "openfold",
)
_OF_0_6 = ("resnet", "ssd", "maskrcnn", "gnmt", "transformer", "ncf", "minigo")

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
    names: tuple[str, ...] = _OF_0_6
    if (rules.usage, rules.name) != ("training", "0.6"):
        names = tuple(sorted(rules.listed("closed"), key=_rank))
    return {
        "strong": (*HEAD, *names, *TAIL),
        "weak": (*HEAD, *(f"{name}:{what}" for name in names for what in WEAK), *TAIL),
        "detailed": (*HEAD, *(f"{name}:{what}" for name in names for what in DETAILS), *TAIL),
    }


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
