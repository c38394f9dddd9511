"""Studies as data: one trainer in several settings, several models on devices, jobs planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMAT = 1
"""Rises when a field is renamed or changes its meaning; new fields do not raise it."""

Kind = Literal["scaling", "precision", "compile"]
State = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The trainer in one setting, and how it compares with the first that was measured.

    A setting that this machine or the trainer does not have is skipped, one that broke off has
    failed; `reason` says why, and figures are None.
    """

    name: str
    folder: str
    """Where its own profile lies, below that of the study."""
    state: State
    reason: str = ""
    ranks: int = 1
    step_ms: float | None = None
    """Median step of the run level."""
    speedup: float | None = None
    """Step of the first variant / this one's."""
    efficiency: float | None = None
    """Speedup / (ranks / the first variant's ranks): 1 where ranks lose nothing."""
    samples_per_s: float | None = None
    processors: float | None = None
    """Processors that all ranks together kept busy."""
    cpu: float | None = None
    """Share of the machine's processors that was busy, whoever kept them so."""
    exposed_ms: float | None = None
    overlapped_ms: float | None = None
    """Communication per step that nothing, or some operator, ran beside."""
    peak_memory: int | None = None
    parts: dict[str, float] | None = None
    """What a recorded step is made of, in milliseconds."""


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
    """Optimizer steps of a whole run, at most."""
    variants: tuple[Variant, ...] = ()
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class OnDevice:
    """A model on one device.

    `advantage` tells how much more this model gains by the device than models do on the average:
    above 1 the model suits it. None where a model was not measured on every device.
    """

    device: str
    step_ms: float | None = None
    speedup: float | None = None
    """Step on the slowest device / step here."""
    advantage: float | None = None
    roofline: float | None = None
    """Share of the roof that the counted work of a recorded step reaches."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A trainer in one setting on several devices."""

    name: str
    """Benchmark, scale, precision, and whether it was compiled or ran on several ranks."""
    on: tuple[OnDevice, ...]
    fastest: str
    suits: str | None
    """The device with the largest advantage; None where advantages are not known."""


@dataclass(frozen=True, kw_only=True)
class DeviceStudy:
    """Several profiles side by side."""

    format: int = FORMAT
    kind: Literal["devices"] = "devices"
    devices: tuple[str, ...]
    models: tuple[Model, ...]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job and its seconds by the number of devices, of which one must be chosen for good."""

    name: str
    seconds: dict[int, float]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """When a job runs, in seconds from the begin of the plan, and on which devices (from 0)."""

    job: str
    devices: tuple[int, ...]
    begin: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Every job placed; `seconds` is the end of the last."""

    name: str
    seconds: float
    jobs: tuple[Placed, ...]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Jobs on equal devices: the best plan that was found, and the naive ones."""

    format: int = FORMAT
    kind: Literal["schedule"] = "schedule"
    devices: int
    jobs: tuple[Job, ...]
    best: Plan
    naive: tuple[Plan, ...]
    bound: float
    """Seconds below which no plan can end."""
    proven: bool
    """Whether every other plan was ruled out."""
