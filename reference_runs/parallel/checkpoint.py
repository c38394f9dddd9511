"""Sharded checkpoints of a divided run, with torch.distributed.checkpoint.

A folder contains `run.pt`, which names the step, and a folder of shards for that step. A checkpoint
of one mesh can be read on another, or by one process.
"""

from __future__ import annotations

import os
import shutil
from pickle import UnpicklingError  # nosec B403
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from podium.reference_runs.engine.checkpoints.identity import described, restored
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.engine.checkpoints.identity import Restored
    from podium.reference_runs.engine.stepper import Stepper

NOTES = "run.pt"
OPTIONS = StateDictOptions(flatten_optimizer_state_dict=True)
"""Optimizer settings are stored by parameter: another mesh has other parameter groups."""


def save_parts(stepper: Stepper, folder: Path, step: int) -> None:
    """Write each rank's shard of weights and optimizer state, then the file that names the step."""
    parts = folder / f"step-{step}"
    save(_state(stepper), checkpoint_id=parts)
    ranks, notes = stepper.task.ranks, described(stepper, step)
    if ranks.first:
        # Renamed into place once all shards are written: until then the last checkpoint is valid
        draft = folder / f".{NOTES}.{os.getpid()}"
        torch.save(notes, draft)
        draft.replace(folder / NOTES)
        for old in folder.glob("step-*"):
            if old != parts:
                shutil.rmtree(old)
    ranks.gather(None)  # no rank begins the next while the last is being removed


def load_parts(stepper: Stepper, folder: Path) -> Restored:
    """Restore a checkpoint of `save_parts`, on any mesh.

    Another number of ranks has other generators for dropout. Raises RunFault if the folder has no
    checkpoint, or one of another run.
    """
    try:
        notes: dict[str, Any] = torch.load(folder / NOTES, weights_only=True)
    except (OSError, EOFError, RuntimeError, UnpicklingError):
        raise RunFault(f"--resume: no checkpoint at {folder}") from None
    progress = restored(folder, notes, stepper)
    state = _state(stepper)
    try:
        load(state, checkpoint_id=folder / f"step-{notes['step']}")
    except (CheckpointException, OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().rpartition("\n")[2]
        raise RunFault(f"--resume: {folder} cannot be read: {reason}") from None
    set_state_dict(
        stepper.model,
        list(stepper.optimizers),
        model_state_dict=state["model"],
        optim_state_dict=state["optimizers"],
        options=OPTIONS,
    )
    return progress


def _state(stepper: Stepper) -> dict[str, Any]:
    """Weights and optimizer state by parameter name, which is the same on any mesh."""
    model, optimizers = get_state_dict(stepper.model, list(stepper.optimizers), options=OPTIONS)
    return {"model": model, "optimizers": optimizers}
