"""Grouped products of tokens with the weights of their experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import (  # noqa: E402
    DataDependentOutputException,
    FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from podium.reference_runs.modeling.experts import Mixture, counted, grouped  # noqa: E402

if TYPE_CHECKING:
    from typing import Any

needs_grouped = pytest.mark.skipif(
    not hasattr(torch.nn.functional, "grouped_mm"), reason="this torch has no grouped products"
)


class Seen(TorchDispatchMode):
    """Recorder of operator names."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func._overloadpacket._qualified_op_name)
        return func(*args, **(kwargs or {}))


def products(dtype: torch.dtype) -> tuple[list[torch.Tensor], list[str]]:
    """Product, gradients and operators of 12 rows; no row chose the second of 3 experts."""
    draw = torch.Generator().manual_seed(1)
    rows, weights = (
        torch.randn(*shape, dtype=torch.float64, generator=draw).to(dtype).requires_grad_()
        for shape in ((12, 16), (3, 16, 24))
    )
    with Seen() as seen:
        out = grouped(rows, weights, torch.tensor([5, 0, 7]))
        out.square().sum().backward()
    return [out.detach(), rows.grad, weights.grad], seen.names


@needs_grouped
def test_a_grouped_product_matches_one_product_per_expert() -> None:
    (wanted, apart), (found, together) = products(torch.float64), products(torch.bfloat16)
    assert "aten::_grouped_mm" in together
    assert "aten::_grouped_mm" not in apart
    for exact, rounded in zip(wanted, found, strict=True):
        assert rounded.dtype is torch.bfloat16
        # The tolerance of an 8-bit mantissa in a sum of 24 products
        assert torch.allclose(rounded.double(), exact, atol=0.02 * float(exact.abs().max()))
    assert not found[2][1].any()


@needs_grouped
def test_products_have_the_precision_of_autocast() -> None:
    rows, weights, sizes = torch.randn(4, 16), torch.randn(2, 16, 8), torch.tensor([1, 3])
    assert grouped(rows, weights, sizes).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert grouped(rows, weights, sizes).dtype is torch.bfloat16


def test_rows_too_short_for_a_grouped_product_have_correct_products() -> None:
    rows = torch.ones(4, 6, dtype=torch.bfloat16)
    weights = torch.stack([torch.full((6, 5), float(n)) for n in (1, 2)]).bfloat16()
    assert grouped(rows, weights, torch.tensor([1, 3]))[:, 0].tolist() == [6, 12, 12, 12]


@needs_grouped
def test_half_precision_experts_do_not_read_sizes_on_the_host() -> None:
    """Fake tensors have no values: code that reads a value from the device fails on them."""
    with FakeTensorMode():
        layer, x = Mixture(32, 16, 8, 2), torch.randn(2, 5, 32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            layer(x).sum().backward()
        with pytest.raises(DataDependentOutputException):
            layer(x)


def test_experts_without_tokens_are_counted_as_zero() -> None:
    assert counted(torch.tensor([[2, 0], [2, 2]]), 4).tolist() == [1, 0, 3, 0]
