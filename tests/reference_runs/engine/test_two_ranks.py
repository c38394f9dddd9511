"""What two ranks compute in double precision is what one computes, for every benchmark."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.catalogue import find, names, task_of  # noqa: E402
from podium.reference_runs.engine.loop import seed_everything  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402

pytestmark = pytest.mark.long

STEPS = 20

SMALLER: dict[str, dict[str, Any]] = {
    "bert": {"train_samples": 1024, "eval_samples": 4},
    # Each rank draws dropout of its own, as in the references
    "llama2_70b_lora": {"lora_dropout": 0.0},
    "gpt_oss_20b": {"max_sequence_length": 256},
    "cosmoflow": {"train_samples": 64, "eval_samples": 4},
    "deepcam": {"train_samples": 64, "eval_samples": 4},
    "flux1": {"train_samples": 512, "eval_samples": 16},
    "resnet": {"train_samples": 256, "global_batch_size": 32, "model_bn_span": 16},
    "retinanet": {"train_samples": 160, "eval_samples": 4, "global_batch_size": 8},
    "oc20": {"train_samples": 160, "eval_samples": 4},
    "openfold": {"train_samples": 160, "eval_samples": 4},
    "rnnt": {"train_samples": 128, "eval_samples": 4},
    "stable_diffusion": {"train_samples": 512, "eval_samples": 8},
    "dlrm_dcnv2": {"train_samples": 20_000, "eval_samples": 100},
    "dlrm_v4_hstu": {"days": 1, "train_samples": 2048},
    "llama31_8b": {"train_samples": 1024},
    "llama31_405b": {"train_samples": 1024},
    "deepseekv3_671b": {"train_samples": 1024},
    "gpt3": {"train_samples": 1024},
    "minigo": {"min_selfplay_games_per_generation": 8, "parallel_games": 4, "num_readouts": 4},
    "qwen35_397b_grpo": {"num_prompts_per_step": 4, "global_batch_size": 64},
}
"""What makes data sooner, and leaves out what ranks draw by themselves."""

BASED = {
    *("bert", "deepseekv3_671b", "gpt3", "llama2_70b_lora", "llama31_405b", "qwen35_397b_grpo")
}
"""Benchmarks whose smoke runs begin with a base that is trained."""

APART = {"rnnt": 1e-4}
"""Where more than rounding differs: of an odd number of frames RNN-T stacks the last one with what
the encoder makes of padding, which depends on the longest utterance of a rank's batch."""


def doubled(batch: Any) -> Any:
    """A batch whose numbers have double precision."""
    if isinstance(batch, torch.Tensor):
        return batch.double() if batch.is_floating_point() else batch
    if hasattr(batch, "_map"):
        return batch._map(doubled)
    if isinstance(batch, tuple | list):
        parts = [doubled(part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def losses(name: str, ranks: Ranks, cache: Path) -> list[float]:
    """The loss of each step, all of it computed in double precision."""
    changes = {key: str(value) for key, value in SMALLER.get(name, {}).items()}
    benchmark = find(name)
    config = benchmark.smoke().with_settings(changes)
    setting = Setting(device="cpu", usage=benchmark.usage, cache=cache)
    task = task_of(name)(config, setting, ranks)
    of_batch = task.loss
    task.loss = lambda model, batch: of_batch(model, doubled(batch))  # type: ignore[method-assign]
    seed_everything(1)
    task.prepare()
    with Logger(io.StringIO(), rank=ranks.rank) as log:
        task.stage(log)
        task.open_data()
        stepper = Stepper(task)
        assert {each.dtype for each in stepper.model.parameters()} == {torch.float64}
        found: list[float] = []
        epoch = 0
        while len(found) < STEPS:
            epoch += 1
            count = min(STEPS - len(found), config.steps_per_epoch)
            found += [float(loss) for loss in stepper.steps(epoch, 0, count)]
    return found


def as_process(number: int, folder: Path, chosen: tuple[str, ...]) -> None:
    """One of two ranks, or the process that is alone; leaves its losses in the folder."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    # Losses are computed in single precision, if not in half: here that is double
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    ranks = Ranks(torch.device("cpu"))
    if number < 2:
        dist.init_process_group("gloo", f"file://{folder}/meeting", rank=number, world_size=2)
        ranks = Ranks(torch.device("cpu"), number, 2)
    for name in chosen:
        found = losses(name, ranks, folder / "cache")
        (folder / f"{name}-{number}.json").write_text(json.dumps(found))
    if number < 2:
        dist.destroy_process_group()


def differences(folder: Path, *chosen: str) -> dict[str, float]:
    """By benchmark, how far a loss of two ranks is from that of one, relatively."""
    for name in BASED & {*chosen}:
        # Once for all: three processes would each train the base
        setting = Setting(cache=folder / "cache")
        task_of(name)(find(name).smoke(), setting, Ranks(torch.device("cpu"))).build()
    mp.spawn(as_process, (folder, chosen), nprocs=3)
    found = {}
    for name in chosen:
        first, second, alone = (
            np.array(json.loads((folder / f"{name}-{number}.json").read_text()))
            for number in range(3)
        )
        assert np.array_equal(first, second)
        assert len(alone) == STEPS
        # The steps have moved the weights: a loss that stays the same would agree, too
        assert np.ptp(alone) > 1e-6
        # A policy's loss is 0 but for rounding where all answers have one length
        size = np.maximum(np.abs(alone), 1e-6)
        found[name] = float(np.max(np.abs(first - alone) / size))
    return found


def test_two_ranks_have_the_losses_of_one_over_twenty_steps(tmp_path: Path) -> None:
    found = differences(tmp_path, *names())
    limits = {name: APART.get(name, 1e-9) for name in found}
    assert {name: far for name, far in found.items() if not far < limits[name]} == {}
