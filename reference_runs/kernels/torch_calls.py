"""DeepBench's kernels as torch calls, with random tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from podium.reference_runs.kernels.problems import (
    GATES,
    Convolution,
    Gemm,
    Recurrent,
    SparseGemm,
)
from podium.reference_runs.kernels.timing import Prepared

if TYPE_CHECKING:
    from torch import Tensor

DRAWN = (1 << 20) + 7
"""Maximum numbers drawn; not a power of two, so that the rows of a matrix differ."""

MASKS = {"backward_inputs": [True, False, False], "backward_weights": [False, True, False]}


class TensorPlace(NamedTuple):
    """The device of tensors, and the type of their elements."""

    device: torch.device
    type: torch.dtype

    def random(self, *sides: int) -> Tensor:
        """Numbers between -1/2 and 1/2."""
        return self.filled(math.prod(sides), -0.5).view(sides)

    def filled(self, count: int, low: float) -> Tensor:
        """`count` numbers from `low` to `low` + 1; they repeat, since drawing is slow."""
        # In single precision: not every device can draw other types
        drawn = (torch.rand(min(count, DRAWN), device=self.device) + low).to(self.type)
        return drawn if count <= DRAWN else drawn.repeat(-(-count // DRAWN))[:count]


class Unsupported(Exception):
    """A device or library has no such kernel; the message says which."""


@singledispatch
def prepared(problem: Any, place: TensorPlace) -> Prepared:
    """A problem as a call; raises RuntimeError if it is not possible on that device."""
    raise TypeError(f"{problem} cannot run on {place.device}")


@prepared.register
def _gemm(problem: Gemm, place: TensorPlace) -> Prepared:
    m, n, k = problem.m, problem.n, problem.k
    a = place.random(k, m).t() if problem.a_t else place.random(m, k)
    b = place.random(n, k).t() if problem.b_t else place.random(k, n)
    out = torch.empty(m, n, device=place.device, dtype=place.type)
    return Prepared(_without_gradient(lambda: torch.mm(a, b, out=out)))


@prepared.register
def _convolution(problem: Convolution, place: TensorPlace) -> Prepared:
    images = place.random(problem.n, problem.c, problem.h, problem.w)
    filters = place.random(problem.k, problem.c, problem.filter_h, problem.filter_w)
    stride = [problem.hstride, problem.wstride]
    padding = [problem.pad_h, problem.pad_w]
    if problem.direction == "forward":
        return Prepared(
            _without_gradient(lambda: torch.conv2d(images, filters, stride=stride, padding=padding))
        )
    outputs = place.random(problem.n, problem.k, problem.p, problem.q)
    mask = MASKS[problem.direction]
    return Prepared(
        _without_gradient(
            lambda: torch.ops.aten.convolution_backward(
                outputs,
                images,
                filters,
                *(None, stride, padding, [1, 1], False, [0, 0], 1, mask),
            )
        )
    )


@prepared.register
def _recurrent(problem: Recurrent, place: TensorPlace) -> Prepared:
    # DeepBench omits the input product, which torch cannot do: an input of one number makes it
    # 1/hidden of the recurrent product
    layer = _LAYERS[problem.cell](problem.hidden).to(place.device, place.type)
    inputs = place.random(problem.timesteps, problem.batch, 1).requires_grad_()
    state = place.random(1, problem.batch, problem.hidden).requires_grad_()
    first = (state, state) if GATES[problem.cell] == GATES["lstm"] else state
    if problem.direction == "forward":
        return Prepared(lambda: layer(inputs, first))
    output, _ = layer(inputs, first)
    taken = (inputs, state, *layer.parameters())
    ones = torch.ones_like(output)
    return Prepared(lambda: torch.autograd.grad(output, taken, ones, retain_graph=True))


_LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "vanilla": lambda hidden: nn.RNN(1, hidden, nonlinearity="relu"),
    "lstm": lambda hidden: nn.LSTM(1, hidden),
    "gru": lambda hidden: nn.GRU(1, hidden),
}


@prepared.register
def _sparse_gemm(problem: SparseGemm, place: TensorPlace) -> Prepared:
    kept = torch.rand(problem.m, problem.k, device=place.device) > problem.sparsity
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*CSR tensor support is in beta")
        a = (place.random(problem.m, problem.k) * kept).to_sparse_csr()
    b = place.random(problem.k, problem.n)
    return Prepared(_without_gradient(lambda: torch.sparse.mm(a, b)))


def _without_gradient(call: Callable[[], object]) -> Callable[[], object]:
    def plain() -> object:
        with torch.no_grad():
            return call()

    return plain
