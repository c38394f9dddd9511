"""The options of a trainer's profile, and its output folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.profiling.profile import DeviceLink

Deepest = Literal["run", "layers", "kernels"]
Utilisation = Literal["auto", "all", "none"]


@dataclass(frozen=True, kw_only=True)
class ProfileRequest:
    """The options of a profile.

    `deepest` is the last level to measure. The run level's log, the utilization and the traces are
    written to `folder` as they come; it is created if needed. `utilisation` is sampled as far as
    possible (`auto`), or every figure is required (`all`); `in_log` also writes it to the run's
    log. `roofs` measures all limits of a step. `topology` has the links of the node's accelerators.
    """

    turns: int = 5
    turn_steps: int = 10
    deepest: Deepest = "kernels"
    folder: Path | None = None
    utilisation: Utilisation = "auto"
    in_log: bool = False
    roofs: bool = False
    topology: tuple[DeviceLink, ...] = ()
