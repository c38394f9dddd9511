"""A model divided along the axes of a mesh: tensor parallelism within blocks, FSDP around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from podium.reference_runs.engine.machine.precision import gathered
from podium.reference_runs.errors import RunFault
from podium.reference_runs.parallel import context
from podium.reference_runs.parallel.experts import divide, local
from podium.reference_runs.parallel.pipeline import OtherStage, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor, nn


class Replicated(ParallelStyle):
    """Replicated on every rank of the axis, as a DTensor: all gradients then have one mesh."""

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def entered(_: nn.Module, inputs: tuple[Tensor, ...], mesh: DeviceMesh) -> Any:
            return tuple(DTensor.from_local(tensor, mesh, [Replicate()]) for tensor in inputs)

        def left(_: nn.Module, output: Any, _mesh: DeviceMesh) -> Any:
            return output.to_local()

        return distribute_module(module, device_mesh, None, entered, left)


def decoder_plan(blocks: int) -> dict[str, ParallelStyle]:
    """The tensor parallel plan of a Llama decoder.

    Heads and inner widths are divided, so that each block has two reductions over the ranks; the
    embedding and the output are divided by vocabulary. Between these modules a rank has its share
    of the positions, and stores only those for the backward pass (Korthikanti et al., "Reducing
    Activation Recomputation in Large Transformer Models", 2022, section 4.2.2).
    """
    share, whole = Shard(1), Replicate()
    plan: dict[str, ParallelStyle] = {
        "embedding": RowwiseParallel(input_layouts=whole, output_layouts=share),
        f"blocks.{blocks - 1}": PrepareModuleOutput(
            output_layouts=share, desired_output_layouts=whole
        ),
        "norm": Replicated(),
        "output": ColwiseParallel(output_layouts=whole),
    }
    for number in range(blocks):
        block = f"blocks.{number}"
        for name in ("attention.query", "attention.key", "attention.value", "ffn.gate", "ffn.up"):
            plan[f"{block}.{name}"] = ColwiseParallel()
        for name in ("attention.out", "ffn.down"):
            plan[f"{block}.{name}"] = RowwiseParallel(output_layouts=share)
        for name in ("attention_norm", "ffn_norm"):
            plan[f"{block}.{name}"] = SequenceParallel(use_local_output=True)
        plan[f"{block}.attention"] = PrepareModuleInput(
            input_layouts=(share, None), desired_input_layouts=(whole, None)
        )
        plan[f"{block}.ffn"] = PrepareModuleInput(input_layouts=share, desired_input_layouts=whole)
    return plan


def shard(model: nn.Module, mesh: DeviceMesh, precision: str) -> nn.Module:
    """Divide a decoder (`blocks`, `embedding`, `norm`, `output`) along a mesh.

    `more_blocks`, if present, are gathered one at a time like the others.
    """
    policy = gathered(precision)
    if mesh["pp"].size() > 1:
        cut(model, mesh)
    if mesh["cp"].size() > 1:
        context.divide(model, mesh)
    every: Any = model.blocks
    more = getattr(model, "more_blocks", ())
    blocks = [block for block in (*every, *more) if not isinstance(block, OtherStage)]
    if mesh["tp"].size() > 1:
        there = {
            name for name, module in model.named_modules() if not isinstance(module, OtherStage)
        }
        plan = decoder_plan(len(every))
        parallelize_module(model, mesh["tp"], {name: plan[name] for name in plan if name in there})
        if isinstance(model.embedding, OtherStage):
            # The previous stage sends a share of the positions; heads attend to all of them
            decoder, size = cast("Any", model), mesh["tp"].size()
            positions = decoder.positions
            decoder.positions = lambda length, device: positions(length * size, device)
    # A model's first blocks may have no experts
    mixtures = [
        block_mixture for block in blocks if (block_mixture := getattr(block, "mixture", None))
    ]
    if mesh["ep"].size() > 1:
        for mixture in mixtures:
            divide(mixture, mesh, policy)
    # Tensors outside of experts are divided along all of these
    cutting = tuple(axis for axis in ("fsdp", "ep", "cp") if mesh[axis].size() > 1) or ("fsdp",)
    parts = mesh[cutting]._flatten("parts") if len(cutting) > 1 else mesh[cutting]
    # One-dimensional if there is one copy: a second dimension of size 1 would reduce needlessly
    data = _beside(mesh["dp"], parts) if mesh["dp"].size() > 1 else parts
    for router in (mixture.router for mixture in mixtures if mixture.exact_router):
        fully_shard(router, mesh=data)
    for block in blocks:
        fully_shard(block, mesh=data, mp_policy=policy)
    fully_shard(model, mesh=data, mp_policy=policy)
    return model


def _beside(copies: DeviceMesh, parts: DeviceMesh) -> DeviceMesh:
    """A mesh of both axes; raises RunFault if torch cannot build one from a flattened mesh."""
    if not hasattr(DeviceMesh, "_concatenate"):
        raise RunFault(f"--mesh: dp with ep or cp requires a newer torch than {torch.__version__}")
    return DeviceMesh._concatenate([copies, parts])


def groups_by_mesh(groups: Iterable[Any]) -> list[dict[str, Any]]:
    """An optimizer's parameters or parameter groups, split so that each group has one mesh."""
    whole = [*groups]
    if not isinstance(whole[0], dict):
        whole = [{"params": whole}]
    return [group | {"params": some} for group in whole for some in by_mesh(group["params"])]


def by_mesh(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Tensors grouped by mesh: one operation accepts only one mesh."""
    groups: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.device_mesh if isinstance(tensor, DTensor) else None, []).append(
            tensor
        )
    return [*groups.values()]


def clip(parameters: Sequence[nn.Parameter], limit: float, mesh: DeviceMesh) -> None:
    """Clip the norm of the whole gradient, of which each rank has a part."""
    stages = mesh["pp"].get_group() if mesh["pp"].size() > 1 else None
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norms = (torch.nn.utils.get_total_norm(some) for some in by_mesh(grads))
    whole = [norm.full_tensor() if isinstance(norm, DTensor) else norm for norm in norms]
    norm = torch.linalg.vector_norm(torch.stack(whole))
    if stages is not None:
        square = norm.square()
        dist.all_reduce(square, group=stages)
        norm = square.sqrt()
    factor = torch.clamp(limit / (norm + 1e-6), max=1.0)
    torch._foreach_mul_([local(grad) for grad in grads], factor)
