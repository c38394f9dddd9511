"""The axes along which a run is divided, and which divisions a model allows; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = ("dp", "fsdp", "tp")
"""Outermost first: neighbouring ranks share a tensor, which needs the fastest links."""
ABSENT = {"pp": "pipeline", "cp": "context", "ep": "expert"}


@dataclass(frozen=True)
class Mesh:
    """Ranks along each axis.

    There are `dp` copies of the model. Each is cut `fsdp` times into shards of its tensors, which
    are gathered where they are used, and `tp` times into parts that stay apart.
    """

    dp: int = 1
    fsdp: int = 1
    tp: int = 1

    @property
    def world(self) -> int:
        """Ranks in all."""
        return self.dp * self.fsdp * self.tp

    @property
    def data(self) -> int:
        """Ranks that take different samples."""
        return self.dp * self.fsdp

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
        if axis in ABSENT:
            raise RunFault(f"--mesh: {ABSENT[axis]} parallelism ({axis}) is not there yet")
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
    for field, size in _divided(config) if mesh.tp > 1 else ():
        if size % mesh.tp:
            raise RunFault(f"--mesh: tp is {mesh.tp}; must divide {field}, which is {size}")
    batch, micro = config.global_batch_size, config.gradient_accumulation_steps
    if batch % mesh.data:
        raise RunFault(
            f"--mesh: dp x fsdp is {mesh.data}; must divide global_batch_size, which is {batch}"
        )
    if batch % (mesh.data * micro):
        raise RunFault(
            f"--mesh: dp x fsdp is {mesh.data}, with {micro} micro-batches; must divide"
            f" global_batch_size, which is {batch}; try --set"
            f" gradient_accumulation_steps={batch // mesh.data}"
        )


def check_world(mesh: Mesh, world: int) -> None:
    """Raise RunFault where other than the mesh's number of ranks are there."""
    if mesh.world != world:
        raise RunFault(f"--mesh: {mesh} is {mesh.world} ranks; there are {world}")


def _divided(config: Any) -> Iterator[tuple[str, int]]:
    """What tensor parallelism cuts: the sizes by the config's own names."""
    for field in ("heads", "kv_heads", "ffn_width", "vocabulary"):
        if hasattr(config, field):
            yield field, getattr(config, field)
