"""Meshes for a number of accelerators, and whether each fits in a rank's memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from podium.reference_runs.engine.machine.quiet import quiet
from podium.reference_runs.errors import RunFault
from podium.reference_runs.parallel.mesh import Mesh, check
from podium.reference_runs.parallel.pipeline import layers_of
from podium.reference_runs.planning.memory import Memory, memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from podium.reference_runs.engine.launch import RunRequest

TENSOR = (1, 8)
"""Values of `tp` to try: all ranks of a node divide a tensor, or none does."""

EXPERT = (1, 8, 64)
"""Values of `ep` to try: the experts are whole, or divided within a node or among several."""

ENOUGH = 2
"""Number of fitting meshes after which the search stops."""


@dataclass(frozen=True)
class Planned:
    """One way to divide a run: the memory that a rank needs, and whether it fits.

    If it does not, `need` may be a lower bound. `mesh` is None if each rank has the whole model;
    `micro_batches` is the number per step.
    """

    mesh: Mesh | None
    micro_batches: int
    need: Memory
    fits: bool


def plan(
    request: RunRequest, accelerators: int, bytes_each: int, report: Callable[[str], None]
) -> list[Planned]:
    """The mesh of the request, or meshes of `accelerators` ranks until some fit, in search order.

    `report` receives a description of each mesh in progress. Raises RunFault if the benchmark
    cannot be divided that way, or if the shapes of a step depend on data.
    """
    asked = request.setting.mesh
    meshes = [asked] if asked is not None else [*_meshes(request, accelerators)]
    if not meshes:
        batch = request.config().global_batch_size
        raise RunFault(
            f"--accelerators: a batch of {batch} cannot be divided among {accelerators} ranks"
        )
    planned: list[Planned] = []
    for mesh in meshes:
        report(str(mesh or "the whole model on each"))
        micro = _micro_batches(request, mesh, accelerators)
        with quiet():
            world = mesh.world if mesh else accelerators
            need = _most(_with(request, mesh, micro), world, bytes_each)
        planned.append(Planned(mesh, micro, need, need.peak <= bytes_each))
        if sum(candidate.fits for candidate in planned) == ENOUGH:
            break
    return planned


def _most(request: RunRequest, world: int, limit: int) -> Memory:
    """The peak memory of the rank that needs most, or of the first one whose bound is too large."""
    needs: list[Memory] = []
    for rank in _unlike(request.setting.mesh, request.config()):
        needs.append(memory(request, world, rank, limit))
        if needs[-1].is_bound:
            return needs[-1]
    return max(needs, key=lambda usage: usage.peak)


def _unlike(mesh: Mesh | None, config: Any) -> Iterator[int]:
    """Ranks that may need a different amount of memory than those before them.

    Parts of images differ in their rows and their neighbors; pipeline stages differ in their extra
    modules and their number of layers. Of equal stages the first has most micro-batches in flight.
    """
    if mesh is None:
        yield 0
        return
    stages = mesh.pp
    first: dict[Any, int] = {}
    for stage in range(stages):
        count = len(layers_of(stage, stages, config.layers)) if stages > 1 else 0
        first.setdefault((stage == 0, stage == stages - 1, count), stage)
    for stage in first.values():
        for part in range(mesh.sp):
            yield stage * (mesh.world // stages) + part * mesh.tp


def _meshes(request: RunRequest, ranks: int) -> Iterator[Mesh | None]:
    """Meshes, from the least communication to the finest division."""
    config, axes = request.config(), request.benchmark.axes
    if config.global_batch_size % ranks == 0:
        yield None
    for tensor, experts, copies in product(TENSOR, EXPERT, (4, 2, 1)):
        apart = copies * experts * tensor
        mesh = Mesh(dp=copies, fsdp=ranks // apart, ep=experts, tp=tensor)
        if mesh.world != ranks or mesh.fsdp * experts == 1:
            continue
        try:
            micro = _micro_batches(request, mesh, ranks)
            check(mesh, axes, replace(config, gradient_accumulation_steps=micro))
        except RunFault:
            continue
        yield mesh


def _micro_batches(request: RunRequest, mesh: Mesh | None, ranks: int) -> int:
    """The config's number of micro-batches if possible; otherwise one per sample of a rank."""
    config = request.config()
    shares = mesh.data if mesh else ranks
    if config.global_batch_size % (shares * config.gradient_accumulation_steps) == 0:
        return config.gradient_accumulation_steps
    return max(1, config.global_batch_size // shares)


def _with(request: RunRequest, mesh: Mesh | None, micro_batches: int) -> RunRequest:
    settings = {**request.settings, "gradient_accumulation_steps": str(micro_batches)}
    return replace(request, setting=replace(request.setting, mesh=mesh), settings=settings)
