"""The name of a device, as in logs."""

from __future__ import annotations

import platform

import torch


def device_name(device: torch.device) -> str:
    """The model name of an accelerator, or of the CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()
