"""Weights of a classifier of ImageNet as a detector's backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.reference_runs.engine.arrays import saved_tensors
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

COUNTER = "num_batches_tracked"
"""A buffer of batch norms that older files do not have, and that no output depends on."""


def load_backbone(body: nn.Module, path: Path, network: str) -> None:
    """Load the weights and norms of a network trained on ImageNet into the body.

    Raises DataMissing if the file is not the state of such a network, in the usual names.
    """
    state = saved_tensors(path, "weights")
    try:
        wanted = (name for name in body.state_dict() if not name.endswith(COUNTER))
        body.load_state_dict({name: state[name] for name in wanted}, strict=False)
    except (KeyError, IndexError, TypeError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataMissing(f"{path} is not a {network}: {reason}") from None
