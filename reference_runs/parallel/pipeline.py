"""Pipeline parallelism: a decoder's blocks in stages, which process micro-batches concurrently.

The schedule is 1F1B (Narayanan et al., "PipeDream", 2019): a stage runs the backward pass of a
micro-batch as soon as possible, so that it stores the activations of few.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


class OtherStage(nn.Module):
    """A placeholder for a layer of another stage: returns its first input."""

    def forward(self, x: Tensor, *_: Any) -> Tensor:
        """The same."""
        return x


def cut(model: Any, mesh: DeviceMesh) -> None:
    """Reduce a decoder to this rank's stage; its tensors keep their names.

    Raises RunFault if torch's schedules scale gradients in a way that does not fit the loss.
    """
    if "scale_grads" not in signature(Schedule1F1B).parameters:
        raise RunFault(f"--mesh: pp requires a newer torch than {torch.__version__}")
    stage, stages = mesh["pp"].get_local_rank(), mesh["pp"].size()
    count = len(model.blocks)
    for number in {*range(count)} - {*layers_of(stage, stages, count)}:
        model.blocks[number] = OtherStage()
    if stage > 0:
        model.embedding = OtherStage()
    if stage < stages - 1:
        model.norm, model.output = OtherStage(), OtherStage()
        model.ends = False
    else:
        # The outputs of stages are concatenated along their first axis, which a scalar lacks
        model.register_forward_hook(lambda _, _inputs, total: torch.stack((total,)))


def layers_of(stage: int, stages: int, count: int) -> range:
    """The layers of a stage."""
    return range(stage * count // stages, (stage + 1) * count // stages)


class Pipeline(nn.Module):
    """The whole decoder, in stages along the mesh's `pp`.

    With gradients, a call runs the forward and backward passes of `parts` micro-batches.
    """

    def __init__(
        self, part: Any, mesh: DeviceMesh, parts: int, batch: int, stream: torch.dtype | None
    ) -> None:
        super().__init__()
        self.part, self.mesh, self.parts, self.batch = part, mesh, parts, batch
        self._stream = stream or next(part.parameters()).dtype
        """The type of the data between stages; by default that of the weights."""
        self._schedules: dict[tuple[bool, torch.Size], Any] = {}

    def forward(self, tokens_BL: Tensor, targets_BL: Tensor) -> Tensor:
        """The summed cross-entropy of a batch, which the last stage sends to all others.

        Gradients are those of this sum divided by the samples of a global batch.
        """
        known = torch.is_grad_enabled(), tokens_BL.shape
        if known not in self._schedules:
            self._schedules[known] = self._schedule(*known)
        stage, stages = self.mesh["pp"].get_local_rank(), self.mesh["pp"].size()
        first = (tokens_BL,) if stage == 0 else ()
        last = {"targets_BL": targets_BL} if stage == stages - 1 else {}
        losses = self._schedules[known].step(*first, target=targets_BL, **last)
        total = torch.zeros((), device=tokens_BL.device)
        if losses is not None:
            total = losses.detach().sum()
        group = self.mesh["pp"].get_group()
        dist.broadcast(total, dist.get_global_rank(group, stages - 1), group=group)
        return total

    def _schedule(self, learns: bool, shape: torch.Size) -> Any:
        ranks = self.mesh["pp"]
        stage, stages = ranks.get_local_rank(), ranks.size()
        device = next(self.part.buffers()).device
        rows, length = shape[0] // (self.parts if learns else 1), shape[1]
        weights = next(self.part.parameters())
        tokens = torch.empty(rows, length, dtype=torch.long, device="meta")
        stream = torch.empty(
            rows,
            length // (self.mesh["cp"].size() * self.mesh["tp"].size()),
            self.part.width,
            dtype=self._stream,
            device="meta",
            requires_grad=learns,
        )
        loss = torch.empty(1, dtype=weights.dtype, device="meta", requires_grad=learns)
        part = PipelineStage(
            self.part,
            stage,
            stages,
            device,
            input_args=tokens if stage == 0 else stream,
            output_args=stream if stage < stages - 1 else loss,
            group=ranks.get_group(),
        )
        if not learns:
            return ScheduleGPipe(part, 1)
        # Divided by the batch size here, as in the loop without a pipeline
        return Schedule1F1B(
            part, self.parts, lambda total, _: total.sum() / self.batch, scale_grads=False
        )
