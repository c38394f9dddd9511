"""The axes along which a run is divided, and the divisions that a model allows; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = ("pp", "dp", "fsdp", "ep", "cp", "sp", "tp")
"""Outermost first: adjacent ranks share a tensor, which needs the fastest links."""


@dataclass(frozen=True)
class Mesh:
    """Number of ranks along each axis.

    There are `dp` copies of the model. Each is divided into `fsdp` shards of its tensors, which are
    gathered for use, and into `tp` parts of tensors that stay separate. Along `ep` whole experts
    stay separate and the ranks send tokens to them; all other tensors are sharded as along `fsdp`.
    Along `sp` images are divided into adjacent rows, and the model is whole. Each of the `pp`
    stages has some of the layers; `cp` divides sequences, and all tensors like `fsdp`.
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
        """Total number of ranks."""
        return self.data * self.pp * self.cp * self.sp * self.tp

    @property
    def data(self) -> int:
        """Number of ranks with different samples."""
        return self.dp * self.fsdp * self.ep

    def sizes(self) -> dict[str, int]:
        """Ranks by axis, in the order of AXES."""
        return {axis: getattr(self, axis) for axis in AXES}

    def __str__(self) -> str:
        return ",".join(f"{axis}={size}" for axis, size in self.sizes().items() if size > 1)


def parse(text: str) -> Mesh:
    """Parse a mesh such as `fsdp=4,tp=2`; raises RunFault."""
    sizes: dict[str, int] = {}
    for part in text.split(","):
        axis, _, size = (token.strip() for token in part.partition("="))
        if axis not in AXES or not (size.isascii() and size.isdigit()) or int(size) < 1:
            raise RunFault(f"--mesh: {part!r} is not an axis; expected e.g. dp=2,fsdp=4,tp=2")
        if axis in sizes:
            raise RunFault(f"--mesh names {axis} twice")
        sizes[axis] = int(size)
    return Mesh(**sizes)


def check(mesh: Mesh, axes: tuple[str, ...], config: Any) -> None:
    """Raise RunFault if a benchmark that supports `axes` cannot be divided that way."""
    for axis, size in mesh.sizes().items():
        if size > 1 and axis not in axes:
            able = ", ".join(axes)
            hint = f"it has {able}" if able else "leave --mesh out: its ranks share the batch"
            raise RunFault(f"--mesh: {config.name} cannot be divided along {axis}; {hint}")
    if getattr(config, "sparse_gradients", False):
        raise RunFault("--mesh requires --set sparse_gradients=False")
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
    """Raise RunFault if the number of ranks is not that of the mesh."""
    if mesh.world != world:
        raise RunFault(f"--mesh: {mesh} needs {mesh.world} ranks; got {world}")


def _divided(config: Any) -> Iterator[tuple[str, str, int]]:
    """The divisions of tensor and expert parallelism: axes, and sizes by their config names."""
    cut = {"tp": ("heads", "kv_heads", "ffn_width", "vocabulary"), "ep": ("experts",)}
    for axis, fields in cut.items():
        for field in fields:
            if hasattr(config, field):
                yield axis, field, getattr(config, field)
