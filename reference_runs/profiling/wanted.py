"""What is to be measured of a trainer, and where it is written while it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Deepest = Literal["run", "layers", "kernels"]
Utilisation = Literal["auto", "all", "none"]


@dataclass(frozen=True, kw_only=True)
class ProfileRequest:
    """The options of a profile.

    `deepest` is the last level that is measured. In `folder`, which may not be there yet, the run
    level's log, the utilisation beside it and the traces are written as they come. `utilisation` is
    sampled as far as this machine tells (`auto`), or must be told (`all`); `in_log` has it in the
    log, too.
    """

    turns: int = 5
    turn_steps: int = 10
    deepest: Deepest = "kernels"
    folder: Path | None = None
    utilisation: Utilisation = "auto"
    in_log: bool = False
