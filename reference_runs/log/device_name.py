"""The name of a device, as logs have it."""

from __future__ import annotations

import platform

import torch


def device_name(device: torch.device) -> str:
    """The model of an accelerator, or of the processor."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()
