"""The options of `podium run` that start several ranks and divide a model among them."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from podium.reference_runs.parallel.mesh import Mesh, check_world

MeshOption = Annotated[
    str | None,
    typer.Option("--mesh", help="Divide the model: dp=2,fsdp=4,tp=2.", metavar="AXES"),
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
