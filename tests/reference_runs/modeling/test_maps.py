"""Layers of feature maps."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from podium.reference_runs.modeling.maps import StridedConv  # noqa: E402


class UsedMemory(TorchDispatchMode):
    """Let every operator allocate memory that contained NaN before."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for elements in (1 << power for power in range(6, 17)):
            freed = [torch.full((elements,), torch.nan) for _ in range(20)]
            del freed
        return func(*args, **(kwargs or {}))


def gradients(conv: StridedConv, x: Tensor) -> list[Tensor]:
    """The gradients of the input, the weights and the bias, for an output of bf16."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = conv(x)
    return [*torch.autograd.grad(y.float().square().sum(), (x, *conv.parameters()))]


@pytest.mark.parametrize("rows", [1, 3, 5])
@pytest.mark.parametrize("side", [1, 2])
def test_gradients_of_small_maps_do_not_depend_on_old_memory(rows: int, side: int) -> None:
    """Three rows have a halo in place of padding, as in spatial parallelism."""
    torch.manual_seed(0)
    padding = (0, 1) if rows == 3 else 1
    conv = StridedConv(16, 32, 3, stride=2, padding=padding)
    x = torch.randn(8, 16, max(rows, side), side, requires_grad=True)
    y = torch.nn.functional.conv2d(x, conv.weight, conv.bias, 2, padding)
    expected = torch.autograd.grad(y.square().sum(), (x, *conv.parameters()))
    for _ in range(20):
        with UsedMemory():
            found = gradients(conv, x)
        for gradient, exact in zip(found, expected, strict=True):
            torch.testing.assert_close(
                gradient.float(), exact, rtol=0.05, atol=0.05 * exact.abs().max().item()
            )
