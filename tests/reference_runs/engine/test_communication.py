"""The log discloses the lowest precision that ranks send to each other."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402
from torch.nn.attention.bias import CausalBias  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.checkpoints.randomness import seed_everything  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks, divided  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.engine.stepper import Stepper  # noqa: E402
from podium.reference_runs.log.declare import disclosures  # noqa: E402
from podium.reference_runs.parallel.mesh import parse  # noqa: E402
from podium.reference_runs.planning.fake_tensors import real_tensors_in  # noqa: E402
from tests.reference_runs.engine.test_mesh import SMALLER  # noqa: E402

NAMES = {torch.bfloat16: "bfloat16", torch.float32: "fp32", torch.float64: "fp64"}


class Recorder(TorchDispatchMode):
    """Recorder of the types of floating-point tensors sent to other ranks, by operator."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: set[tuple[str, str]] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in ("c10d", "_c10d_functional", "_c10d_functional_autograd"):
            leaves = tree_leaves((args, kwargs or {}))
            if any(size > 1 for size in _group_sizes(leaves)):
                self.sent |= {
                    (func.__name__, NAMES[each.dtype])
                    for each in leaves
                    if isinstance(each, torch.Tensor) and each.is_floating_point()
                }
        return func(*args, **(kwargs or {}))

    @property
    def lowest(self) -> str:
        return min((kind for _, kind in self.sent), key=("bfloat16", "fp32", "fp64").index)


def _group_sizes(leaves: list[Any]) -> Iterator[int]:
    for each in leaves:
        if isinstance(each, torch.ScriptObject):
            try:
                yield dist.ProcessGroup.unbox(each).size()
            except RuntimeError:
                continue  # another class: the reduction operation
        elif isinstance(each, str):
            try:
                yield dist.distributed_c10d._resolve_process_group(each).size()
            except (RuntimeError, ValueError, LookupError):
                continue


@dataclass(frozen=True)
class Case:
    """A run on two ranks and the lowest precision that they send."""

    name: str
    mesh: str
    precision: str
    lowest: str


def as_rank(rank: int, cases: tuple[Case, ...], folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meeting", rank=rank, world_size=2)
    for number, case in enumerate(cases):
        found = measured(case, rank, folder)
        if rank == 0:
            (folder / f"{number}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def measured(case: Case, rank: int, folder: Path) -> Any:
    """The lowest sent precision and the disclosed one, the losses, and the operators."""
    name, mesh = case.name, parse(case.mesh) if case.mesh else None
    few = {"train_samples": 256, "eval_samples": 66} if name.startswith(("llama", "gpt")) else {}
    changes = {**few, **SMALLER.get(name, {})}
    if "pp" in case.mesh:
        changes["gradient_accumulation_steps"] = 2
    config = find(name).smoke().with_settings({key: str(each) for key, each in changes.items()})
    ranks = divided(Ranks(torch.device("cpu"), rank, 2), mesh)
    setting = Setting(device="cpu", cache=folder / "cache", mesh=mesh, precision=case.precision)
    task = task_of(name)(config, setting, ranks)
    seed_everything(1)
    task.prepare()
    task.open_data()
    stepper = Stepper(task)
    # A mask of this class cannot be created while operators are recorded
    with Recorder() as recorder, real_tensors_in(CausalBias, "__new__"):
        losses = [float(each) for each in stepper.steps(1, 0, 3)]
        stepper.evaluate()
    disclosed = disclosures(config, setting, ranks)["lowest_numerical_precision_in_comm"]
    return [[recorder.lowest, disclosed], losses, sorted(recorder.sent)]


def sent(folder: Path, *cases: Case) -> list[Any]:
    mp.spawn(as_rank, (cases, folder), nprocs=2)
    return [json.loads((folder / f"{at}.json").read_text()) for at in range(len(cases))]


@pytest.mark.long
def test_a_decoder_sends_the_disclosed_precision(tmp_path: Path) -> None:
    cases = [
        Case("llama31_8b", "", "bf16", "fp32"),
        Case("llama31_8b", "fsdp=2", "bf16", "bfloat16"),
        Case("llama31_8b", "dp=2", "bf16", "fp32"),
        Case("llama31_8b", "tp=2", "bf16", "bfloat16"),
        Case("llama31_8b", "cp=2", "bf16", "bfloat16"),
        Case("llama31_8b", "pp=2", "bf16", "bfloat16"),
        Case("llama31_8b", "tp=2", "fp32", "fp32"),
    ]
    found = sent(tmp_path, *cases)
    for case, (kinds, losses, operators) in zip(cases, found, strict=True):
        assert kinds == [case.lowest, case.lowest], (case, operators)
        assert losses == pytest.approx(found[0][1], rel=2e-2), case
    # Weights are gathered in half precision; gradients are reduced in single precision
    operators = found[1][2]
    assert {kind for name, kind in operators if "gather" in name} == {"bfloat16"}
    assert {kind for name, kind in operators if "reduce_scatter" in name} == {"fp32"}


@pytest.mark.long
@pytest.mark.daily(5)
@pytest.mark.parametrize(
    "case",
    [
        Case("gpt_oss_20b", "ep=2", "bf16", "bfloat16"),
        Case("deepseekv3_671b", "ep=2", "bf16", "bfloat16"),
        Case("llama2_70b_lora", "fsdp=2", "bf16", "bfloat16"),
        Case("gpt3", "fsdp=2", "bf16", "bfloat16"),
        Case("flux1", "fsdp=2", "bf16", "bfloat16"),
        Case("retinanet", "sp=2", "bf16", "bfloat16"),
        Case("ssd", "sp=2", "bf16", "bfloat16"),
        Case("unet3d", "sp=2", "bf16", "bfloat16"),
        Case("dlrm_dcnv2", "fsdp=2", "bf16", "fp32"),
        Case("dlrm_v4_hstu", "fsdp=2", "bf16", "fp32"),
    ],
    ids=lambda case: case.name,
)
def test_the_disclosed_precision_is_the_lowest_that_is_sent(case: Case, tmp_path: Path) -> None:
    ((kinds, losses, operators),) = sent(tmp_path, case)
    assert kinds == [case.lowest, case.lowest], operators
    assert all(math.isfinite(each) for each in losses)
