"""Plans for accelerators have the data types of CUDA's autocast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402, N812 - torch's own custom
from torch.utils.checkpoint import checkpoint  # noqa: E402

from podium.reference_runs.engine.launch import run_request  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.planning.accelerator_types import accelerator_types  # noqa: E402
from podium.reference_runs.planning.memory import by_phase  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.ones(1, 4, 8, 8, 8, dtype=torch.bfloat16)
CALLS: dict[str, Callable[[], Any]] = {
    "group_norm": lambda: F.group_norm(X, 2),
    "layer_norm": lambda: torch.nn.LayerNorm(8)(X),
    "softmax": lambda: X.softmax(-1),
    "max_pool3d": lambda: F.max_pool3d(X, 2),
    "conv3d": lambda: F.conv3d(X.float(), torch.ones(4, 4, 1, 1, 1)),
}


def types() -> dict[str, torch.dtype]:
    with torch.autocast("cpu", torch.bfloat16):
        return {name: call().dtype for name, call in CALLS.items()}


def test_functions_have_the_types_of_cuda_autocast() -> None:
    of_cpu, norm = types(), F.group_norm
    with accelerator_types():
        of_cuda = types()
        assert F.group_norm(X, 2).dtype is torch.bfloat16  # outside of autocast
    assert F.group_norm is norm
    single = {name for name, found in of_cuda.items() if found is torch.float32}
    assert single == {"group_norm", "layer_norm", "softmax"}
    assert {name for name, found in of_cpu.items() if found is torch.float32} == {"max_pool3d"}


def test_recomputed_blocks_have_the_same_types() -> None:
    x = torch.ones(2, 8, requires_grad=True)
    norm = torch.nn.LayerNorm(8)
    with accelerator_types():
        with torch.autocast("cpu", torch.bfloat16):
            y = checkpoint(lambda x: norm(x.bfloat16()), x, use_reentrant=False)
        y.sum().backward()
    assert x.grad is not None


def planned(name: str, device: str, precision: Any) -> int:
    return by_phase(run_request(name, Setting(device=device, precision=precision), {}), 1)[
        "step"
    ].peak


@pytest.mark.parametrize(
    ("name", "more"),
    [pytest.param("stable_diffusion", True, marks=pytest.mark.long), ("cosmoflow", False)],
)
def test_a_plan_for_an_accelerator_has_the_types_of_cuda(name: str, more: bool) -> None:
    """GB of a step on an H200, in a plan with these types, and in a plan with the types of the CPU:

    Stable Diffusion 52.5, 52.3, 42.7; CosmoFlow 8.5, 8.7, 13.3.
    """
    on_accelerator, on_cpu = (planned(name, device, "bf16") for device in ("auto", "cpu"))
    assert (on_accelerator > on_cpu) is more
    assert on_accelerator != on_cpu
    assert planned(name, "auto", "fp32") == planned(name, "cpu", "fp32")
