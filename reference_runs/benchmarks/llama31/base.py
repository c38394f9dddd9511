"""A trained model to start from, where a benchmark starts from a published one.

Smoke scale cannot fetch a checkpoint, so it makes one: the same model class, trained for a minute
on another synthetic language before the run, and kept in a cache under the hash of what made it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.benchmarks.llama31.data import LANGUAGE_SEED, Language, Sequences
from podium.reference_runs.benchmarks.llama31.model import Llama
from podium.reference_runs.engine.arrays import saved_tensors
from podium.reference_runs.engine.cache import kept_weights
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.weights.published import Published

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from podium.reference_runs.benchmarks.llama31.config import Decoder
    from podium.reference_runs.engine.setting import Setting

STEPS, BATCH, RATE = 320, 16, 4e-3
FOLDER, FILE = "base", "base.pt"
VERSION = 4
"""To be raised when what is below makes other weights."""


def base_weights(
    config: Decoder,
    setting: Setting,
    build: Callable[[Any], nn.Module] = Llama,
    stepped: Callable[[nn.Module], None] = lambda _: None,
) -> dict[str, Tensor]:
    """Weights of a decoder that knows the first language; the same for every seed of a run.

    `stepped` is called with the decoder after each step of its training.
    """
    sizes = (*config.shape, config.vocabulary, config.max_sequence_length)
    what = (*sizes, STEPS, BATCH, RATE, VERSION)
    return kept_weights(setting, "base", what, lambda: _train(config, build, stepped))


def published_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a published model, of which nothing is read yet; raises DataMissing."""
    # Mapped, so that hundreds of gigabytes need not be in memory beside the model's own
    found = saved_tensors(path, "weights", mapped=True)
    if not isinstance(found, dict):
        raise DataMissing(f"{path} must hold tensors by name")
    return found


def start_place(folder: Path) -> Path:
    """Where published weights lie below `--data`: a folder `base` of safetensors, or `base.pt`."""
    return folder / FOLDER if (folder / FOLDER).is_dir() else folder / FILE


def check_start(place: Path) -> None:
    """Raise DataMissing where the weights are not there; nothing is opened."""
    if not place.exists():
        raise DataMissing(
            f"{place} is missing; training starts from published weights: a folder {FOLDER} of"
            f" safetensors, or {FILE}"
        )


def fill(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    path: Path,
    *,
    kept: Callable[[str], bool] = lambda _: False,
) -> None:
    """Give a model its weights, all but those whose names are to be kept; raises DataMissing.

    One tensor is read after the other: together they may not fit beside the model.
    """
    wanted = {name: tensor for name, tensor in model.state_dict().items() if not kept(name)}
    for name in [*wanted, *weights]:
        if name not in weights:
            raise DataMissing(f"{path} holds no tensor {name}")
        if name not in wanted:
            raise DataMissing(f"{path} holds a tensor {name}, which the model has not")
    for name, tensor in wanted.items():
        tensor.copy_(fitting(weights, name, tuple(tensor.shape), path))


def fitting(weights: Mapping[str, Tensor], name: str, shape: tuple[int, ...], path: Path) -> Tensor:
    """One of the weights, which must have that shape; raises DataMissing."""
    if name not in weights:
        raise DataMissing(f"{path} holds no tensor {name}")
    # Of published weights no number is read for their shape
    found = weights.shape(name) if isinstance(weights, Published) else tuple(weights[name].shape)
    if found != shape:
        raise DataMissing(f"{path}: {name} is of shape {found}; expected {shape}")
    return weights[name]


def _train(
    config: Decoder, build: Callable[[Any], nn.Module], stepped: Callable[[nn.Module], None]
) -> dict[str, Tensor]:
    # Only the processor's generator: a GPU's would stand elsewhere than if the base was there.
    torch.default_generator.manual_seed(LANGUAGE_SEED)
    model = build(config)
    adamw = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adamw, STEPS, eta_min=RATE / 10)
    rng = np.random.default_rng(LANGUAGE_SEED)
    language = Language(config.vocabulary, LANGUAGE_SEED)
    count = STEPS * BATCH
    sequences = Sequences(language.sentences(count, config.max_sequence_length + 1, rng))
    for step in range(STEPS):
        batch = sequences.__getitems__(range(step * BATCH, (step + 1) * BATCH))
        loss: Tensor = model(batch.tokens, batch.targets) / batch.targets.numel()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adamw.step()
        schedule.step()
        adamw.zero_grad(set_to_none=True)
        stepped(model)
    return model.state_dict()
