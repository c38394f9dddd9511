"""The GPU benchmark builds each of its models, so that it works when a GPU is available."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.modeling.language.pretraining import Pretraining  # noqa: E402

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def accelerator() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("accelerator")
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.long
def test_every_model_is_built_at_reference_scale(accelerator: Any) -> None:
    for name, case in accelerator.CASES.items():
        setting = Setting(scale="reference", precision="bf16", device="cpu")
        task = accelerator.opened(name, case, setting, Ranks(torch.device("cpu")))
        # A detector is small, and its code to load a backbone does not run on the meta device
        with torch.device("cpu" if name in accelerator.DETECTORS else "meta"):
            assert sum(weight.numel() for weight in task.build().parameters()) > 1e5, name
        assert getattr(task, "start_weights", lambda: None)() is None


def test_the_model_is_built_without_generating_base_weights(
    accelerator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def generate(_: Any) -> Any:
        raise AssertionError("a base is generated")

    monkeypatch.setattr(Pretraining, "base", generate)
    shape = {"layers": 1, "width": 32, "heads": 2, "kv_heads": 1, "ffn_width": 32, "vocabulary": 64}
    case = dataclasses.replace(accelerator.CASES["llama31_405b"], changes=shape)
    setting = Setting(scale="reference", precision="bf16", device="cpu")
    task = accelerator.opened("llama31_405b", case, setting, Ranks(torch.device("cpu")))
    assert sum(weight.numel() for weight in task.build().parameters()) > 4096


def test_the_flop_count_of_a_recurrent_layer_does_not_depend_on_packing(accelerator: Any) -> None:
    weights = [(16, 8), (16, 4), (16,), (16,)]
    padded = accelerator.recurrent_flops((5, 3, 8), weights)
    assert padded == accelerator.recurrent_flops((15, 8), weights) == 2 * 15 * 16 * (8 + 4)
