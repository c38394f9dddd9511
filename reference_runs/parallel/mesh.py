"""The axes along which a run is divided, and which divisions a model allows; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = ("pp", "dp", "fsdp", "ep", "cp", "sp", "tp")
"""Outermost first: neighbouring ranks share a tensor, which needs the fastest links."""


@dataclass(frozen=True)
class Mesh:
    """Ranks along each axis.

    There are `dp` copies of the model. Each is cut `fsdp` times into shards of its tensors, which
    are gathered where they are used, and `tp` times into parts that stay apart. Along `ep` whole
    experts stay apart, to which the ranks send their tokens; all else is cut as along `fsdp`. Along
    `sp` images are cut into neighbouring rows, and the model is whole. The stages of `pp` have some
    layers each; `cp` cuts sequences, and all else like `fsdp`.
    """

    pp: int = 1
    dp: int = 1
    fsdp: int = 1
    ep: int = 1
    cp: int = 1
    sp: int = 1
    tp: int = 1

    @property
    def world(self) -> int:
        """Ranks in all."""
        return self.data * self.pp * self.cp * self.sp * self.tp

    @property
    def data(self) -> int:
        """Ranks that take different samples."""
        return self.dp * self.fsdp * self.ep

    def sizes(self) -> dict[str, int]:
        """Ranks by axis, in the order of AXES."""
        return {axis: getattr(self, axis) for axis in AXES}

    def __str__(self) -> str:
        return ",".join(f"{axis}={size}" for axis, size in self.sizes().items() if size > 1)


def parse(text: str) -> Mesh:
    """The mesh that a text like `fsdp=4,tp=2` names; raises RunFault."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, _, size = (each.strip() for each in part.partition("="))
        if axis not in AXES or not (size.isascii() and size.isdigit()) or int(size) < 1:
            raise RunFault(f"--mesh: {part!r} is no axis; must be like dp=2,fsdp=4,tp=2")
        if axis in sizes:
            raise RunFault(f"--mesh names {axis} twice")
        sizes[axis] = int(size)
    return Mesh(**sizes)


def check(mesh: Mesh, axes: tuple[str, ...], config: Any) -> None:
    """Raise RunFault where a benchmark that can be cut along `axes` cannot be divided so."""
    for axis, size in mesh.sizes().items():
        if size > 1 and axis not in axes:
            able = ", ".join(axes)
            hint = f"it has {able}" if able else "leave --mesh out: its ranks share the batch"
            raise RunFault(f"--mesh: {config.name} cannot be divided along {axis}; {hint}")
    if getattr(config, "sparse_gradients", False):
        raise RunFault("--mesh goes with --set sparse_gradients=False")
    config.check_mesh(mesh)
    for axis, field, size in _divided(config):
        if size % getattr(mesh, axis):
            raise RunFault(
                f"--mesh: {axis} is {getattr(mesh, axis)}; must divide {field}, which is {size}"
            )
    batch, micro = config.global_batch_size, config.gradient_accumulation_steps
    shared = "dp x fsdp x ep" if mesh.ep > 1 else "dp x fsdp"
    if batch % mesh.data:
        raise RunFault(
            f"--mesh: {shared} is {mesh.data}; must divide global_batch_size, which is {batch}"
        )
    if batch % (mesh.data * micro):
        raise RunFault(
            f"--mesh: {shared} is {mesh.data}, with {micro} micro-batches; must divide"
            f" global_batch_size, which is {batch}; try --set"
            f" gradient_accumulation_steps={batch // mesh.data}"
        )


def check_world(mesh: Mesh, world: int) -> None:
    """Raise RunFault where other than the mesh's number of ranks are there."""
    if mesh.world != world:
        raise RunFault(f"--mesh: {mesh} is {mesh.world} ranks; there are {world}")


def _divided(config: Any) -> Iterator[tuple[str, str, int]]:
    """What tensor and expert parallelism cut: axes, sizes by the config's own names."""
    cut = {"tp": ("heads", "kv_heads", "ffn_width", "vocabulary"), "ep": ("experts",)}
    for axis, fields in cut.items():
        for field in fields:
            if hasattr(config, field):
                yield axis, field, getattr(config, field)
