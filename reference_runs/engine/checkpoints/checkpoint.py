"""The state of a run on disk, so that an interrupted run can resume."""

from __future__ import annotations

import os
from pickle import UnpicklingError  # nosec B403
from typing import TYPE_CHECKING, Any

import torch

from podium.reference_runs.engine.checkpoints.identity import Restored, described, restored
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.engine.stepper import Stepper


def save(stepper: Stepper, path: Path, step: int) -> None:
    """Write weights, optimizer state and generator state after a step, atomically.

    For a model divided along a mesh, every rank writes its shard into a folder. An existing folder
    is updated.
    """
    if stepper.task.ranks.mesh is not None or path.is_dir():
        from podium.reference_runs.parallel.checkpoint import save_parts

        save_parts(stepper, path, step)
        return
    for optimizer in stepper.optimizers:
        if hasattr(optimizer, "consolidate_state_dict"):
            optimizer.consolidate_state_dict()  # every rank sends its shard to rank 0
    place = described(stepper, step)
    if not stepper.task.ranks.first:
        return
    state = {
        **place,
        "model": stepper.model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in stepper.optimizers],
        "scaler": stepper.scaler.state_dict(),
    }
    # Renamed into place: a run killed while saving keeps its last checkpoint
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    torch.save(state, draft)
    draft.replace(path)


def load(stepper: Stepper, path: Path | None) -> Restored:
    """Restore a checkpoint of `save`.

    Raises RunFault if the file does not exist or belongs to another run.
    """
    if path is not None and path.is_dir():
        from podium.reference_runs.parallel.checkpoint import load_parts

        return load_parts(stepper, path)
    if path is None or not path.is_file():
        raise RunFault(f"--resume: no checkpoint at {path}")
    # Loaded to the CPU: device state is copied from there, and Adam's step count stays on the CPU.
    # weights_only, since unpickling anything else can run code
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, EOFError, RuntimeError, UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise RunFault(f"--resume: {path} cannot be read: {reason}") from None
    restored_run = restored(path, state, stepper)
    stepper.model.load_state_dict(state["model"])
    for optimizer, saved in zip(stepper.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    stepper.scaler.load_state_dict(state["scaler"])
    return restored_run
