"""The options of `podium run` that start several ranks and divide a model among them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from podium.compliance.exit_codes import Exit
from podium.reference_runs.parallel.mesh import Mesh, check_world

if TYPE_CHECKING:
    from podium.reference_runs.engine.launch import RunRequest

MeshOption = Annotated[
    str | None,
    typer.Option("--mesh", help="Divide the model: dp=2,fsdp=4,tp=2.", metavar="AXES"),
]
PlanOption = Annotated[
    bool,
    typer.Option("--plan", help="Print the memory that ranks need, and meshes; train nothing."),
]
AcceleratorsOption = Annotated[
    int, typer.Option("--accelerators", min=1, help="Ranks that --plan is for.", metavar="N")
]
MemoryOption = Annotated[
    str, typer.Option("--memory", help="What each of them has, for --plan.", metavar="SIZE")
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
    """Ranks to start here: those of the mesh where `--processes` names no other number.

    Raises RunFault where that does not fit the mesh.
    """
    # torchrun has set RANK where this process is a rank already, and the world was checked
    if mesh is None or "RANK" in os.environ:
        return processes
    if processes > 1:
        check_world(mesh, processes)
    return mesh.world


def print_plan(request: RunRequest, accelerators: int, size: str) -> NoReturn:
    """Print what memory a run needs on each rank, and end: status 1 where no mesh fits."""
    from podium.reference_runs.catalogue import need_torch
    from podium.reference_runs.planning.text import parse_size, plan_text

    each = parse_size(size)
    need_torch()
    from podium.reference_runs.planning.propose import plan

    mesh = request.setting.mesh
    if mesh is not None and accelerators != 1:
        check_world(mesh, accelerators)
    found = plan(request, accelerators, each, lambda mesh: typer.echo(f"… {mesh}", err=True))
    typer.echo(plan_text(request, found, each))
    raise typer.Exit(Exit.CLEAN if any(one.fits for one in found) else Exit.FOUND)
