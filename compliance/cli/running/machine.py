"""Options for the computation of a step: number type, compilation, devices and the mesh."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from podium.compliance.exit_codes import Exit
from podium.reference_runs.parallel.mesh import Mesh, check_world

if TYPE_CHECKING:
    from podium.reference_runs.engine.launch import RunRequest


class Precision(StrEnum):
    """Number types of the forward pass."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"


class TrainingPrecision(StrEnum):
    """Number types of training; fp8 applies only to some products of a model."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"


class CompileMode(StrEnum):
    """Modes of torch.compile."""

    DEFAULT = "default"
    REDUCE_OVERHEAD = "reduce-overhead"
    MAX_AUTOTUNE = "max-autotune"


PrecisionOption = Annotated[
    Precision, typer.Option("--precision", help="Number type of the forward pass.")
]
TrainingPrecisionOption = Annotated[
    TrainingPrecision,
    typer.Option(
        "--precision", help="Number type of the forward pass; fp8 applies to linear layers."
    ),
]
CompileOption = Annotated[bool, typer.Option("--compile", help="Compile the model with torch.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.", metavar="DEVICE")
]
CompileModeOption = Annotated[
    CompileMode | None,
    typer.Option("--compile-mode", help="torch.compile mode; reduce-overhead uses CUDA graphs."),
]


MeshOption = Annotated[
    str | None,
    typer.Option("--mesh", help="Divide the model: dp=2,fsdp=4,tp=2.", metavar="AXES"),
]
PlanOption = Annotated[
    bool,
    typer.Option("--plan", help="Print the memory of each rank and possible meshes; do not train."),
]
AcceleratorsOption = Annotated[
    int, typer.Option("--accelerators", min=1, help="Number of ranks for --plan.", metavar="N")
]
MemoryOption = Annotated[
    str, typer.Option("--memory", help="Memory per accelerator, for --plan.", metavar="SIZE")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="Threads of torch; default 1 at smoke scale.", metavar="N"
    ),
]
ShardOption = Annotated[
    bool, typer.Option("--shard", help="Shard the optimizer's state over the ranks.")
]
ProcessesOption = Annotated[
    int,
    typer.Option(
        "--processes", min=1, help="Ranks on this machine, started by torchrun.", metavar="N"
    ),
]


def ranks_wanted(mesh: Mesh | None, processes: int) -> int:
    """The number of ranks to start: the size of the mesh unless `--processes` gives another.

    Raises RunFault if the number does not fit the mesh.
    """
    # If torchrun has set RANK, this process is a rank, and the world size was checked
    if mesh is None or "RANK" in os.environ:
        return processes
    if processes > 1:
        check_world(mesh, processes)
    return mesh.world


def print_plan(request: RunRequest, accelerators: int, size: str) -> NoReturn:
    """Print the memory that a run needs on each rank, and exit: status 1 if no mesh fits."""
    from podium.reference_runs.catalogue import need_torch
    from podium.reference_runs.planning.text import parse_size, plan_text

    memory = parse_size(size)
    need_torch()
    from podium.reference_runs.planning.propose import plan

    mesh = request.setting.mesh
    if mesh is not None and accelerators != 1:
        check_world(mesh, accelerators)
    meshes = plan(request, accelerators, memory, lambda mesh: typer.echo(f"… {mesh}", err=True))
    typer.echo(plan_text(request, meshes, memory))
    raise typer.Exit(Exit.CLEAN if any(entry.fits for entry in meshes) else Exit.FOUND)
