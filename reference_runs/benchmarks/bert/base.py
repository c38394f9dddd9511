"""The checkpoint that smoke scale starts from: a BERT trained on another language, and cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.bert.data import SPECIAL, pairs
from podium.reference_runs.benchmarks.bert.model import Bert
from podium.reference_runs.engine.cache import kept_weights
from podium.reference_runs.modeling.language.corpus import LANGUAGE_SEED, Language

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.bert.config import Bert as Config
    from podium.reference_runs.engine.setting import Setting

STEPS, BATCH, RATE = 1000, 32, 2e-3
VERSION = 1
"""Increment this when the code below produces other weights."""


def language(config: Config) -> Language:
    """The language of the base."""
    return Language(config.vocabulary - SPECIAL, LANGUAGE_SEED)


def base_weights(config: Config, setting: Setting) -> dict[str, Tensor]:
    """Weights that know the first language; the same for every seed of a run."""
    sizes = (config.layers, config.width, config.heads, config.ffn_width, config.vocabulary)
    lengths = (config.max_sequence_length, config.max_predictions_per_seq)
    what = ("bert", *sizes, *lengths, STEPS, BATCH, RATE, VERSION)
    return kept_weights(setting, "base", what, lambda: _train(config))


def _train(config: Config) -> dict[str, Tensor]:
    # Only the CPU generator: a GPU's state would depend on whether the base is cached
    torch.default_generator.manual_seed(LANGUAGE_SEED)
    model = Bert(config)
    adam = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, STEPS, pct_start=0.1)
    data = pairs(language(config), config, STEPS * BATCH, np.random.default_rng(LANGUAGE_SEED))
    for step in range(STEPS):
        *inputs, targets, unrelated = data.__getitems__(range(step * BATCH, (step + 1) * BATCH))
        words, relation = model(*inputs)
        loss = F.cross_entropy(words.flatten(0, 1), targets.flatten())
        loss = loss + F.cross_entropy(relation, unrelated)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        schedule.step()
        adam.zero_grad(set_to_none=True)
    return model.state_dict()
