"""A pretrained base model at smoke scale, for benchmarks that start from a published one.

Smoke scale cannot download a checkpoint, so it generates one: the same model class, trained for a
minute on another synthetic language before the run. The result is cached under its inputs' hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.engine.cache import kept_weights
from podium.reference_runs.modeling.language.corpus import LANGUAGE_SEED, Language, Sequences
from podium.reference_runs.modeling.language.llama import Llama

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from podium.reference_runs.engine.setting import Setting
    from podium.reference_runs.modeling.language.config import DecoderConfig

STEPS, BATCH, RATE = 320, 16, 4e-3
VERSION = 4
"""Increment this when the code below produces other weights."""


def base_weights(
    config: DecoderConfig,
    setting: Setting,
    build: Callable[[Any], nn.Module] = Llama,
    stepped: Callable[[nn.Module], None] = lambda _: None,
) -> dict[str, Tensor]:
    """Weights of a decoder that knows the first language; the same for every seed of a run.

    `stepped` is called with the decoder after each step of this training.
    """
    sizes = (*config.shape, config.vocabulary, config.max_sequence_length)
    what = (*sizes, STEPS, BATCH, RATE, VERSION)
    return kept_weights(setting, "base", what, lambda: _train(config, build, stepped))


def _train(
    config: DecoderConfig, build: Callable[[Any], nn.Module], stepped: Callable[[nn.Module], None]
) -> dict[str, Tensor]:
    # Only the CPU generator: a GPU's state would depend on whether the base is cached.
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
