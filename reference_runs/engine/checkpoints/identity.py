"""The identity of the run that a checkpoint belongs to, so that no other run resumes from it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.engine.checkpoints.randomness import restore, seed_rank, states
from podium.reference_runs.errors import RunFault
from podium.reference_runs.log.device_name import device_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from podium.reference_runs.engine.stepper import Stepper
    from podium.reference_runs.engine.task import Task

FREE = ("workers",)
"""Config fields that affect neither the training nor the log."""
SHOWN = 3
"""Maximum number of differences in a message."""
MESH, WORLD = "mesh", "processes"


def identity(task: Task[Any]) -> dict[str, str]:
    """The declared and training-relevant settings of a run, as strings by name."""
    config, setting = task.declared, task.setting
    settings = {field.name: repr(getattr(config, field.name)) for field in fields(config)}
    for name in FREE:
        settings.pop(name)
    options = ("round", "division", "usage", "scale", "seed", "precision", "allow_subset", "org")
    # A config field may have the name of an option
    settings |= {f"--{name.replace('_', '-')}": str(getattr(setting, name)) for name in options}
    settings["--weights"] = "given" if setting.weights else "not given"
    settings["device"] = device_name(task.device)
    settings[MESH] = str(setting.mesh or "none")
    settings[WORLD] = str(task.ranks.processes)
    return settings


def checked(path: Path, state: Mapping[str, Any], task: Task[Any]) -> str:
    """A description of a changed division of the model, which is allowed; "" if unchanged.

    Raises RunFault if the checkpoint belongs to another run.
    """
    name = task.config.name
    if state.get("benchmark") != name:
        raise RunFault(f"--resume: {path} is a checkpoint of {state.get('benchmark')}")
    saved: Mapping[str, str] | None = state.get("run")
    if saved is None:
        raise RunFault(f"--resume: {path} was written by an older podium, without its settings")
    now = identity(task)
    divided = MESH in saved and {saved[MESH], now[MESH]} != {"none"}
    different = [
        key
        for key in (*now, *(key for key in saved if key not in now))
        if key != MESH and not (divided and key == WORLD) and saved.get(key) != now.get(key)
    ]
    if different:
        raise RunFault(f"--resume: {path} belongs to another run: {_named(different, saved, now)}")
    if all(saved[key] == now[key] for key in (MESH, WORLD)):
        return ""
    return (
        f"continued with --mesh {now[MESH]} on {now[WORLD]} ranks;"
        f" the run began with --mesh {saved[MESH]} on {saved[WORLD]} ranks"
    )


def _named(different: list[str], saved: Mapping[str, str], now: Mapping[str, str]) -> str:
    def each() -> Iterator[str]:
        for key in different[:SHOWN]:
            yield (
                f"{key} is {saved.get(key, 'absent')} in the checkpoint,"
                f" {now.get(key, 'absent')} in this run"
            )
        if len(different) > SHOWN:
            yield f"and {len(different) - SHOWN} more"

    return "; ".join(each())


class Restored(NamedTuple):
    """The state that a checkpoint restored."""

    step: int
    samples: tuple[int, int]
    """Number of training and evaluation samples of the data."""
    division: str
    """A note if the model is now divided differently among the ranks; "" otherwise."""


def described(stepper: Stepper, step: int) -> dict[str, Any]:
    """The part of a checkpoint that identifies its run and position; all ranks call this."""
    task = stepper.task
    return {
        "benchmark": task.config.name,
        "run": identity(task),
        "samples": task.samples(),
        "step": step,
        "random": states(task.ranks),
    }


def restored(path: Path, state: dict[str, Any], stepper: Stepper) -> Restored:
    """Restore the output of `described`; raises RunFault if it belongs to another run."""
    division = checked(path, state, stepper.task)
    task, (training, evaluation) = stepper.task, state["samples"]
    if division:
        # Ranks of another mesh have other shards of the model, or another number of ranks
        seed_rank(task.setting.seed, task.ranks, int(state["step"]))
    else:
        restore(state["random"], task.ranks)
    return Restored(int(state["step"]), (training, evaluation), division)
