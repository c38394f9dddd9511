"""One optimizer step and one evaluation: precision, accumulation, gradient averaging."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parallel import DistributedDataParallel

from podium.reference_runs.engine.loading import prefetched
from podium.reference_runs.engine.machine.precision import autocast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh

    from podium.reference_runs.engine.task import Loss, Task


class Stepper:
    """A task's model and optimizers on this rank's device, ready to train."""

    def __init__(self, task: Task[Any]) -> None:
        self.task = task
        mesh = task.ranks.mesh
        self._pipelined = mesh is not None and mesh["pp"].size() > 1
        self.model = self._build()
        self.optimizers = tuple(task.optimizers(self.model))
        self._parameters = [p for p in self.model.parameters() if p.requires_grad]
        self._wrapped = self._wrap()
        self.stepped: Callable[[], None] = _do_nothing
        """Called after every step, for a profiler."""
        self.saved: int | None = None
        """The step of the last checkpoint, if there is one."""
        # bf16 has the range of fp32: only fp16 needs a loss scale for small gradients
        half = task.setting.precision == "fp16"
        self.scaler = torch.amp.GradScaler(task.device.type, enabled=half)

    def _build(self) -> nn.Module:
        task = self.task
        # The weights of a full model are drawn on the device: a CPU takes minutes for billions.
        full = task.setting.scale == "reference"
        if full and task.ranks.mesh is not None and not task.keeps_whole:
            return self._build_in_parts(task.ranks.mesh)
        with task.device if full else nullcontext():
            model = self._fresh()
        # Fake tensors cannot be moved, not even to their present device
        if any(tensor.device != task.device for tensor in (*model.parameters(), *model.buffers())):
            model = model.to(task.device)
        if task.ranks.mesh is not None:
            # The model is divided first: optimizers are built from the shards of a rank
            model = task.divided(model, task.ranks.mesh)
        if task.ranks.world > 1:
            from podium.reference_runs.parallel.norms import join_norms

            join_norms(model, task.ranks, task.micro_batch_size)
        return model

    def _build_in_parts(self, mesh: DeviceMesh) -> nn.Module:
        """The model, divided before its weights exist: the whole may not fit on any rank."""
        from podium.reference_runs.parallel.filling import fill_parts, node_mates

        with torch.device("meta"):
            model = self.task.divided(self._fresh(), mesh)
        # Files are read once on each node
        readers = node_mates(mesh) if self.task.reads_weights else None
        fill_parts(model, self.task.device, self.task.initial_weights(model), readers)
        return model

    def _fresh(self) -> nn.Module:
        task = self.task
        model = task.build()
        if task.setting.precision == "fp8":
            from podium.reference_runs.modeling.fp8 import with_fp8

            return with_fp8(model, task.fp8_parts)
        return model

    def _wrap(self) -> nn.Module:
        task = self.task
        model = self.model
        if task.setting.compile:
            # In place: training, DDP and evaluation call the same compiled model
            model.compile(mode=task.setting.compile_mode)
        if self._pipelined and task.ranks.mesh is not None:
            return task.pipelined(model, task.ranks.mesh)
        if task.ranks.processes == 1 or (task.ranks.mesh is not None and not task.keeps_whole):
            return model
        return DistributedDataParallel(
            model,
            find_unused_parameters=task.unused_parameters,
            gradient_as_bucket_view=True,  # otherwise there are two copies of each gradient
        )

    def steps(self, epoch: int, begin: int, count: int) -> Iterator[Tensor]:
        """Train steps of an epoch (from 1), starting with its step `begin` (from 0).

        Yields each step's mean loss over all ranks, a detached scalar on the device.
        """
        config = self.task.config
        batches = prefetched(self._shares(epoch, begin, count), self.task.device)
        # An evaluation before this block left the model in evaluation mode
        self.model.train()
        done = (epoch - 1) * config.steps_per_epoch + begin
        for step, micro in enumerate(batches, done + 1):
            yield self.step(step, micro)
            self.stepped()

    def _shares(self, epoch: int, begin: int, count: int) -> Iterator[list[Any]]:
        """The local micro-batches of each step."""
        batches = self.task.batches(epoch, begin)
        for _ in range(count):
            yield list(islice(batches, self.task.config.gradient_accumulation_steps))

    def step(self, step: int, micro: list[Any]) -> Tensor:
        """One optimizer step, counted from 1, on the local micro-batches of a global batch."""
        # In double precision: sums over a large batch need more digits than single precision has
        total = torch.zeros(2, dtype=torch.float64, device=self.task.device)
        if self._pipelined:
            micro = [type(micro[0])(*map(torch.cat, zip(*micro, strict=True)))]
        for number, batch in enumerate(micro, 1):
            with self._without_sync(last=number == len(micro)):
                loss = self._backward(batch)
            total += torch.stack([_as_scalar(loss.total, total), _as_scalar(loss.items, total)])
        self.task.ranks.sum(total)
        self._average_gradients(total[1])
        self._update(step)
        self.task.after_step(self.model, step)
        return (total[0] / total[1]).detach()

    def _backward(self, batch: Any) -> Loss:
        with self._autocast():
            loss = self.task.loss(self._wrapped, batch)
        if self._pipelined:
            return loss  # the pipeline stages already ran the backward pass
        # Divided by the batch size here, so that half precision does not overflow.
        scaled = loss.total / self.task.config.global_batch_size
        self.scaler.scale(scaled).backward()
        return loss

    def _average_gradients(self, count: Tensor) -> None:
        """Scale the gradients to the mean over all samples (DDP averaged over ranks)."""
        task = self.task
        # DDP divided by the number of ranks, which is undone here
        factor = task.config.global_batch_size * task.ranks.world / count
        # On an accelerator, reading the factor would synchronize with the device.
        if factor.device.type == "cpu" and factor == 1:
            return
        grads = [p.grad for p in self._parameters if p.grad is not None]
        if task.ranks.mesh is not None:
            from podium.reference_runs.parallel.experts import local

            grads = [local(grad) for grad in grads]
        torch._foreach_mul_(grads, factor)

    def _update(self, step: int) -> None:
        rate = self.task.learning_rate(step)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group.get("scale", 1.0)
            # Before clipping, or the limit would apply to scaled gradients
            self.scaler.unscale_(optimizer)
        self.task.clip(self._parameters)
        for optimizer in self.optimizers:
            self.scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        self.scaler.update()

    def evaluate(self) -> float:
        """The current quality: a Python number, to which a benchmark may have added others."""
        self.model.eval()
        with torch.no_grad(), self._autocast():
            model = self._wrapped if self._pipelined else self.model
            quality: float = self.task.evaluate(model)
            return quality

    def reports(self, step: int) -> bool:
        """Whether to read the loss after this step: on a GPU that synchronizes with the device."""
        return self.task.device.type == "cpu" or step % 20 == 0

    def _autocast(self) -> AbstractContextManager[Any]:
        return autocast(self.task.device, self.task.setting.precision)

    def _without_sync(self, *, last: bool) -> AbstractContextManager[Any]:
        """Defer the gradient all-reduce until the last micro-batch."""
        if last or not isinstance(self._wrapped, DistributedDataParallel):
            return nullcontext()
        return self._wrapped.no_sync()


def _do_nothing() -> None:
    pass


def _as_scalar(value: Tensor | float, like: Tensor) -> Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().to(like)
    return torch.full((), value, dtype=like.dtype, device=like.device)  # no copy between devices
