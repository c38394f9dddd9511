"""The settings of a run that do not affect what it trains, the same for every benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.parallel.mesh import Mesh

Scale = Literal["smoke", "reference"]
Division = Literal["closed", "open"]
Precision = Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
CompileMode = Literal["default", "reduce-overhead", "max-autotune"]

ORG = "podium reference trainers"
"""The organization in a log, unless an option names another."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The environment of one run.

    `data` is the folder of the real dataset (reference scale only). `cache` keeps generated inputs
    of smoke scale that are expensive, such as a pretrained base. `allow_subset` accepts a dataset
    of another size than the benchmark's, in the open division. `threads` is torch's number of
    intra-op threads (one is fastest for the small models of smoke scale). `compile_mode` is the
    mode of torch.compile. `weights` is a folder of published weights to start from. `shard` spreads
    the optimizer state over the ranks; `mesh` divides the model, too. `resume` continues from the
    run's checkpoint. `trace` is the folder for a trace of some steps.
    """

    scale: Scale = "smoke"
    division: Division = "closed"
    round: str = "6.1"
    usage: Literal["training", "hpc"] = "training"
    seed: int = 1
    precision: Precision = "fp32"
    device: str = "auto"
    compile: bool = False
    compile_mode: CompileMode = "default"
    shard: bool = False
    mesh: Mesh | None = None
    threads: int | None = None
    data: Path | None = None
    allow_subset: bool = False
    cache: Path | None = None
    weights: Path | None = None
    checkpoint: Path | None = None
    resume: bool = False
    trace: Path | None = None
    org: str = ORG
