"""torch's errors that a user can act on, each as one sentence."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.errors import RunAborted, peer_is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from podium.reference_runs.engine.setting import Setting


@contextmanager
def plain_errors(setting: Setting, axes: Sequence[str]) -> Iterator[None]:
    """Convert such errors to RunAborted; `axes`: axes along which the benchmark can be divided."""
    try:
        yield
    except torch.OutOfMemoryError:
        advice = less_memory(setting, axes)
        raise RunAborted(f"out of memory on the accelerator; {advice}") from None
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        # torch raises a bare RuntimeError here: only the message distinguishes the causes
        if "can't allocate memory" in str(error) or "not enough memory" in str(error):
            raise RunAborted(f"out of memory; {less_memory(setting, axes)}") from None
        if peer_is_gone(error):
            raise RunAborted(f"another rank has ended; see its message: {reason}") from None
        if isinstance(error, torch.distributed.DistError):
            raise RunAborted(f"the ranks cannot communicate: {reason}") from None
        raise


def less_memory(setting: Setting, axes: Sequence[str]) -> str:
    """Advice: options of this run that reduce its memory."""
    advice = ["raise gradient_accumulation_steps with --set"]
    if setting.precision in ("fp32", "tf32"):
        advice.append("lower the precision with --precision bf16")
    if setting.mesh is not None:
        advice.append("divide the model further with --mesh")
    elif "fsdp" in axes:
        advice.append("divide the model with --mesh fsdp=N")
    elif not setting.shard:
        advice.append("shard the optimizer state over the ranks with --shard")
    return ", ".join(advice) + "; --plan shows what a rank needs"
