"""The datasets that podium can build from published sources, and their recipes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from podium.reference_runs.catalogue import find, package_of
from podium.reference_runs.errors import DataMissing, RunFault

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.datasets.prepare import Recipe

PREPARED = (
    "deepcam",
    "deepseekv3_671b",
    "gpt_oss_20b",
    "llama2_70b_lora",
    "llama31_405b",
    "llama31_8b",
    "resnet",
)
"""Benchmarks whose published dataset is not yet a folder that `--data` can name."""

SHARED = {"deepseekv3_671b": "llama31_8b", "gpt_oss_20b": "llama31_8b"}
"""Benchmarks that use the dataset of another benchmark."""


def recipe_of(name: str, source: Path, tokenizer: Path | None, *, subset: bool) -> Recipe:
    """The recipe of a benchmark's dataset; raises RunFault, or DataMissing for the source."""
    benchmark = find(name)
    if name not in PREPARED:
        raise RunFault(
            f"{name}: podium cannot prepare this dataset, only those of {', '.join(PREPARED)};"
            f" --data must contain {benchmark.data}"
        )
    if not source.is_dir():
        raise DataMissing(f"--from: folder {source} does not exist")
    if tokenizer is not None and not tokenizer.is_file():
        raise DataMissing(f"--tokenizer: file {tokenizer} does not exist")
    module = import_module(f"{package_of(SHARED.get(name, name))}.prepare")
    made: Recipe = module.recipe(name, source, tokenizer, subset=subset)
    return made
