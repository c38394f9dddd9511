"""The state of a divided run, written in parts by torch.distributed.checkpoint.

A folder holds `run.pt`, which names the step, and a folder of parts for that step. What was written
on one mesh is read on another, or by one process.
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
"""Settings are kept by parameter: another mesh has other groups of them."""


def save_parts(stepper: Stepper, folder: Path, step: int) -> None:
    """Write each rank's part of weights and optimizer state, then the notes that name the step."""
    parts = folder / f"step-{step}"
    save(_state(stepper), checkpoint_id=parts)
    ranks, notes = stepper.task.ranks, described(stepper, step)
    if ranks.first:
        # Renamed into place once all parts are there: until then the last checkpoint counts
        draft = folder / f".{NOTES}.{os.getpid()}"
        torch.save(notes, draft)
        draft.replace(folder / NOTES)
        for old in folder.glob("step-*"):
            if old != parts:
                shutil.rmtree(old)
    ranks.gather(None)  # no rank begins the next while the last is cleared away


def load_parts(stepper: Stepper, folder: Path) -> Restored:
    """Restore what `save_parts` wrote, on any mesh.

    Another number of ranks has other generators for dropout. Raises RunFault where the
    folder holds no checkpoint, or that of another run.
    """
    try:
        notes: dict[str, Any] = torch.load(folder / NOTES, weights_only=True)
    except (OSError, EOFError, RuntimeError, UnpicklingError):
        raise RunFault(f"--resume: there is no checkpoint at {folder}") from None
    found = restored(folder, notes, stepper)
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
    return found


def _state(stepper: Stepper) -> dict[str, Any]:
    """Weights and optimizer state by the names of parameters, which are the same on any mesh."""
    model, optimizers = get_state_dict(stepper.model, list(stepper.optimizers), options=OPTIONS)
    return {"model": model, "optimizers": optimizers}
