"""The bundled trainers and their packages; importing this imports no torch."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from podium.reference_runs.errors import IncompleteTrainer, TorchMissing, UnknownBenchmark

if TYPE_CHECKING:
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.reference_point import ReferencePoint
    from podium.reference_runs.engine.task import Task

HOMES = {
    "bert": "bert",
    "flux1": "flux1",
    "stable_diffusion": "stable_diffusion",
    "llama2_70b_lora": "llama2_70b_lora",
    "resnet": "resnet",
    "retinanet": "retinanet",
    "unet3d": "unet3d",
    # One model class serves both sizes, so two names share a folder
    "llama31_8b": "llama31",
    "llama31_405b": "llama31",
    "deepseekv3_671b": "deepseekv3_671b",
    "gnmt": "gnmt",
    "gpt3": "gpt3",
    "gpt_oss_20b": "gpt_oss_20b",
    "qwen35_397b_grpo": "qwen35_397b_grpo",
    "maskrcnn": "maskrcnn",
    "minigo": "minigo",
    "ncf": "ncf",
    "dlrm": "dlrm",
    "dlrm_dcnv2": "dlrm_dcnv2",
    "dlrm_v4_hstu": "dlrm_v4_hstu",
    "rgat": "rgat",
    "deepcam": "deepcam",
    "rnnt": "rnnt",
    "sentiment": "sentiment",
    "ssd": "ssd",
    "cosmoflow": "cosmoflow",
    "oc20": "oc20",
    "openfold": "openfold",
    "transformer": "transformer",
}
"""Benchmark name on the command line → folder below `reference_runs/benchmarks`."""

ADDED: dict[str, str] = {}
"""Trainers from other packages, by benchmark: the package with their `config` and `train`."""


def add(name: str, package: str) -> None:
    """Register a trainer of another package; raises UnknownBenchmark if podium bundles that name.

    The package has the same modules as the packages in `reference_runs/benchmarks`.
    """
    if name in HOMES:
        raise UnknownBenchmark(f"{package} provides a trainer {name}, which podium already bundles")
    ADDED[name] = package


def package_of(name: str) -> str:
    """The package that contains a benchmark's trainer."""
    return ADDED.get(name) or f"podium.reference_runs.benchmarks.{HOMES[name]}"


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A bundled trainer: its two scales, and the rounds whose rules include it, oldest first.

    `rounds` is empty for a benchmark that was in no round with machine-readable rules; its log then
    has the format of the newest round. `division` is the one whose rules a smoke run can satisfy.
    """

    name: str
    title: str
    smoke: Callable[[], Config]
    reference: Callable[[], Config]
    rounds: tuple[str, ...]
    data: str
    """The files that the `--data` folder must contain, at reference scale."""
    point: ReferencePoint | None = None
    """The reference convergence point that supplies the hyperparameters at reference scale."""
    usage: Literal["training", "hpc"] = "training"
    division: Literal["closed", "open"] = "closed"
    axes: tuple[str, ...] = ()
    """Axes of a mesh along which the model can be divided."""


def names() -> tuple[str, ...]:
    """The benchmarks that can run, in alphabetical order."""
    return tuple(sorted(HOMES))


def find(name: str) -> Benchmark:
    """A bundled benchmark; raises UnknownBenchmark with the nearest name."""
    if name not in HOMES and name not in ADDED:
        meant = difflib.get_close_matches(name, HOMES, 1)
        hint = f"did you mean {meant[0]}" if meant else f"the trainers are {', '.join(names())}"
        raise UnknownBenchmark(f"no bundled trainer is named {name}; {hint}")
    # Config modules import no torch, so listing and dry logs work without it
    module = import_module(f"{package_of(name)}.config")
    for candidate in module.BENCHMARKS:
        if candidate.name == name:
            benchmark: Benchmark = candidate
            return benchmark
    raise UnknownBenchmark(f"{module.__name__} has no benchmark named {name}")


def task_of(name: str) -> type[Task[Any]]:
    """The class that trains a benchmark.

    Raises TorchMissing without torch, IncompleteTrainer if the class lacks a method.
    """
    need_torch()
    trainer: type[Task[Any]] = import_module(f"{package_of(name)}.train").TASK
    if missing := sorted(trainer.__abstractmethods__):
        plural = "s" if len(missing) > 1 else ""
        raise IncompleteTrainer(
            f"{trainer.__module__}.{trainer.__qualname__} does not define the method{plural} "
            f"{', '.join(missing)}; every trainer must"
        )
    return trainer


def need_torch() -> None:
    """Raise TorchMissing if torch cannot be imported."""
    try:
        import_module("torch")
    except ModuleNotFoundError:
        raise TorchMissing(
            "torch is not installed; the trainers need it: pip install torch"
            " numpy pillow pycocotools safetensors sacrebleu torchmetrics"
        ) from None
