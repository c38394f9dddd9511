"""The order of columns in the official summary of a training round."""

from __future__ import annotations

COLUMNS = (
    *("llama31_8b", "bert", "dlrm", "dlrm_dcnv2", "gpt3", "gnmt", "maskrcnn", "minigo", "resnet"),
    *("ssd", "retinanet", "transformer", "rnnt", "unet3d", "flux1", "stable_diffusion"),
    *("llama2_70b_lora", "gnn", "rgat", "llama31_405b", "gpt_oss_20b", "deepseekv3_671b"),
    *("qwen35_397b_grpo", "dlrmv4"),
)
"""The order of the official tool, which is neither the order of the rules nor of introduction."""
