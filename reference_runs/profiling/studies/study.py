"""Studies as data: a trainer in several settings, models on several devices, schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMAT = 1
"""Incremented when a field is renamed or changes its meaning; new fields do not count."""

Kind = Literal["scaling", "precision", "compile", "batch"]
State = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The trainer in one setting, compared with the first measured setting.

    A setting that this machine or the trainer does not support is skipped; one that stopped early
    has failed. `reason` says why, and the figures are None.
    """

    name: str
    folder: str
    """The path of its profile, relative to the study's folder."""
    state: State
    reason: str = ""
    ranks: int = 1
    global_batch_size: int | None = None
    step_ms: float | None = None
    """Median step of the run level."""
    speedup: float | None = None
    """Samples per second / those of the first variant."""
    efficiency: float | None = None
    """Speedup / (ranks / the first variant's ranks): 1 for perfect scaling; None for batches."""
    samples_per_s: float | None = None
    processors: float | None = None
    """CPUs that all ranks together kept busy."""
    cpu: float | None = None
    """Busy fraction of the machine's CPUs, including other processes."""
    exposed_ms: float | None = None
    overlapped_ms: float | None = None
    """Communication per step that is exposed, or overlapped by operators."""
    peak_memory: int | None = None
    parts: dict[str, float] | None = None
    """The parts of a recorded step, in milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """One trainer in several settings, as far as they have been measured."""

    format: int = FORMAT
    kind: Kind
    benchmark: str
    scale: str
    device_name: str = ""
    global_batch_size: int | None = None
    last_step: int | None = None
    """Maximum number of optimizer steps in a whole run."""
    variants: tuple[Variant, ...] = ()
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class OnDevice:
    """A model on one device.

    `advantage` is the ratio of this model's gain from the device to the average gain of models:
    above 1 the device suits the model. None if a model was not measured on every device.
    """

    device: str
    step_ms: float | None = None
    speedup: float | None = None
    """Step time on the slowest device / on this one."""
    advantage: float | None = None
    roofline: float | None = None
    """Fraction of the roof that the counted work of a recorded step reaches."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A trainer in one setting on several devices."""

    name: str
    """Benchmark, scale, precision, compilation, and the number of ranks."""
    on: tuple[OnDevice, ...]
    fastest: str
    suits: str | None
    """The device with the largest advantage; None if advantages are unknown."""


@dataclass(frozen=True, kw_only=True)
class DeviceStudy:
    """Several profiles, compared."""

    format: int = FORMAT
    kind: Literal["devices"] = "devices"
    devices: tuple[str, ...]
    models: tuple[Model, ...]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job and its seconds by number of devices, which is fixed for the whole job."""

    name: str
    seconds: dict[int, float]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The times of a job, in seconds from the start of the plan, and its devices (from 0)."""

    job: str
    devices: tuple[int, ...]
    begin: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All jobs with their times; `seconds` is the end of the last."""

    name: str
    seconds: float
    jobs: tuple[Placed, ...]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Jobs on equal devices: the best plan found, and the naive ones."""

    format: int = FORMAT
    kind: Literal["schedule"] = "schedule"
    devices: int
    jobs: tuple[Job, ...]
    best: Plan
    naive: tuple[Plan, ...]
    bound: float
    """A lower bound in seconds for every plan."""
    proven: bool
    """Whether every other plan was ruled out."""
