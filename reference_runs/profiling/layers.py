"""The time of each module's forward and backward pass, from hooks without a profiler."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.autograd.graph import register_multi_grad_hook
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn


class Passes(NamedTuple):
    """Seconds of a module's passes in all steps, and its number of forward passes."""

    forward: float
    backward: float
    calls: int


class LayerClock:
    """Times the modules of a model while its hooks are installed.

    A backward pass lasts from the first gradient of the module's outputs to the last gradient of
    its inputs, or to the end of the whole backward pass if the inputs need no gradient.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._marks: list[tuple[str, bool, Any, Any]] = []

    def _mark(self) -> Any:
        if not self._cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record()
        return event

    @contextmanager
    def on(self, model: nn.Module) -> Iterator[None]:
        """Time every module of this model."""
        handles: list[Any] = []
        for name, module in model.named_modules():
            begun: list[Any] = []
            handles.append(module.register_forward_pre_hook(self._enter(begun)))
            handles.append(module.register_forward_hook(self._leave(name, begun), always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, begun: list[Any]) -> Callable[..., None]:
        def hook(_module: nn.Module, _inputs: Any) -> None:
            begun.append(self._mark())

        return hook

    def _leave(self, name: str, begun: list[Any]) -> Callable[..., None]:
        def hook(_module: nn.Module, inputs: Any, output: Any) -> None:
            self._marks.append((name, True, begun.pop(), self._mark()))
            if torch.is_grad_enabled():
                self._follow(name, _with_gradients(inputs), _with_gradients(output))

        return hook

    def _follow(self, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        """Time the coming backward pass."""
        begun: list[Any] = []

        def end(*_: Any) -> None:
            if begun:
                self._marks.append((name, False, begun.pop(), self._mark()))

        def begin(*_: Any) -> None:
            begun.append(self._mark())
            if not inputs:
                # Only the end of the backward pass shows when the weights' gradients are finished
                torch.autograd.Variable._execution_engine.queue_callback(end)

        if outputs:
            # A tensor that a module passes through would end its backward pass before it begins
            own = [tensor for tensor in inputs if all(tensor is not other for other in outputs)]
            inputs = own
            register_multi_grad_hook(outputs, begin, mode="any")
            if inputs:
                register_multi_grad_hook(inputs, end, mode="all")

    def passes(self) -> dict[str, Passes]:
        """Seconds by module; waits for the device."""
        if self._cuda:
            torch.cuda.synchronize()
        forward: dict[str, float] = defaultdict(float)
        backward: dict[str, float] = defaultdict(float)
        calls: dict[str, int] = defaultdict(int)
        for name, is_forward, begin, end in self._marks:
            seconds = begin.elapsed_time(end) / 1000 if self._cuda else end - begin
            (forward if is_forward else backward)[name] += seconds
            calls[name] += is_forward
        return {name: Passes(forward[name], backward[name], calls[name]) for name in calls}


def _with_gradients(values: Any) -> list[torch.Tensor]:
    return [
        value
        for value in tree_leaves(values)
        if isinstance(value, torch.Tensor) and value.requires_grad
    ]
