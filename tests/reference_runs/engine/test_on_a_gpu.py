"""Tests that need a CUDA device; they are skipped without one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from podium.logging_spec import read_log  # noqa: E402
from podium.reference_runs.benchmarks.gpt_oss_20b.model import windowed  # noqa: E402
from podium.reference_runs.catalogue import names  # noqa: E402
from podium.reference_runs.engine.launch import run, run_request  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import Interrupted  # noqa: E402
from podium.reference_runs.modeling.attention import attend  # noqa: E402
from tests.reference_runs.engine.test_resume import cut_short  # noqa: E402

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]

TIMES = ("duration", "staging_duration", "timestamp")


def train(name: str, path: Path, changes: dict[str, Any] | None = None, **setting: Any) -> Path:
    """Run a trainer at smoke scale on the GPU and return its log; `setting` is for `Setting`."""
    request = run_request(
        name,
        Setting(device="cuda", **setting),
        {key: str(value) for key, value in (changes or {}).items()},
    )
    run(request, path, lambda _: None)
    return path


def said(path: Path, *keys: str) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the records of a log without times, only those of `keys` if there are any."""
    found = []
    for record in read_log(path).records:
        kept = {key: value for key, value in record.metadata.items() if key not in TIMES}
        if not keys or record.key in keys:
            found.append((record.key, record.value, kept))
    return found


@pytest.mark.parametrize("name", names())
def test_the_same_seed_gives_the_same_log(name: str, tmp_path: Path) -> None:
    one, two = (train(name, tmp_path / each) for each in ("one.txt", "two.txt"))
    assert said(one) == said(two)
    assert [value for key, value, _ in said(one) if key == "run_stop"] == [None]
    assert said(one, "run_stop")[0][2]["status"] == "success"


def test_a_resumed_run_has_the_records_of_an_uninterrupted_run(tmp_path: Path) -> None:
    """The checkpoint restores Adam's moments and the random state of the LoRA dropout."""
    out_of_reach = {"target": 0.01, "last_step": 480}
    whole = train("llama2_70b_lora", tmp_path / "whole.txt", out_of_reach)
    state, path = tmp_path / "state.pt", tmp_path / "cut.txt"
    with cut_short(Interrupted("the node went away"), step=240), pytest.raises(Interrupted):
        train("llama2_70b_lora", path, out_of_reach, checkpoint=state)
    cut = train("llama2_70b_lora", path, out_of_reach, checkpoint=state, resume=True)
    keys = ("tracked_stats", "eval_accuracy")
    assert said(cut, *keys) == said(whole, *keys)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_precision_reaches_the_target(precision: str, tmp_path: Path) -> None:
    path = train("llama31_8b", tmp_path / "log.txt", precision=precision)
    assert said(path, "run_stop")[0][2]["status"] == "success"


def test_fp32_convolutions_have_single_precision(tmp_path: Path) -> None:
    train("llama31_8b", tmp_path / "log.txt", {"last_step": 48})
    x, kernel = torch.randn(8, 64, 32, 32), torch.randn(64, 64, 3, 3)
    exact = torch.nn.functional.conv2d(x.double(), kernel.double())
    found = torch.nn.functional.conv2d(x.cuda(), kernel.cuda()).cpu()
    assert float((found - exact).norm() / exact.norm()) < 1e-5


def test_attention_of_shared_heads_does_not_store_the_scores_of_all_pairs() -> None:
    length, window = 4096, 128
    q, k, v = (torch.randn(1, heads, length, 64, device="cuda") for heads in (8, 2, 2))
    halves = [x.bfloat16() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.MATH):
        stored = peak_of(attend, q, k, v), peak_of(partial(windowed, window=window), *halves)
    # An earlier smoke run in this process disabled the first two backends
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        fast = peak_of(attend, q, k, v), peak_of(partial(windowed, window=window), *halves)
    assert all(few < many / 2 for few, many in zip(fast, stored, strict=True))


def peak_of(work: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> int:
    """Return the peak bytes of a forward and a backward pass without the inputs."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work(*leaves).sum().backward()
    return torch.cuda.max_memory_allocated() - before


def test_trace_tables_list_each_layer_once_and_kernels_without_operators(tmp_path: Path) -> None:
    setting = Setting(device="cuda", trace=tmp_path / "trace.json")
    request = run_request("llama31_8b", setting, {"last_step": "48"})
    tables = run(request, tmp_path / "log.txt", lambda _: None).trace
    layers, kernels = tables.split("kernels", 1)
    assert layers.count("blocks.0.attention ") == 1
    assert "aten::" not in kernels
