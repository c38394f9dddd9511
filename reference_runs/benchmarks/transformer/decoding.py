"""Beam search with a Transformer.

Dimensions: B sentences, K beams, L words so far, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from podium.reference_runs.modeling.beams import Beams

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.transformer.config import Transformer
    from podium.reference_runs.benchmarks.transformer.model import Memory, Translator


def beam_search(model: Translator, source_BS: Tensor, config: Transformer) -> list[list[int]]:
    """The best translation of each sentence as token ids."""
    batch, count = len(source_BS), config.beams
    memories, mask = model.encode(source_BS)
    wide = [
        (key.repeat_interleave(count, 0), value.repeat_interleave(count, 0))
        for key, value in memories
    ]
    source = wide, mask.repeat_interleave(count, 0)
    beams = Beams(batch, config, source_BS.device)
    limit = source_BS.shape[1] + config.extra_length
    first_B1 = torch.arange(batch, device=source_BS.device).unsqueeze(-1) * count
    past: list[Memory] | None = None
    for _ in range(limit):
        scores, past = model.decode(beams.words_BKL[:, :, -1].reshape(-1, 1), past, source)
        scores_BKV = scores[:, 0].float().log_softmax(-1).view(batch, count, -1)
        order = (first_B1 + beams.extend(scores_BKV)).flatten()
        if not beams.can_improve(limit):
            break
        past = [(key[order], value[order]) for key, value in past]
    return beams.best()
