"""Beam search for GNMT, with a coverage penalty.

Dimensions: B sentences, K beams, S source length, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from podium.reference_runs.modeling.beams import Beams

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.gnmt.config import Gnmt
    from podium.reference_runs.benchmarks.gnmt.model import RecurrentTranslator, State


def beam_search(model: RecurrentTranslator, source_BS: Tensor, config: Gnmt) -> list[list[int]]:
    """The best translation of each sentence as token ids."""
    batch, count = len(source_BS), config.beams
    source = model.encode(source_BS).repeated(count)
    words = ~source.padding
    covered = torch.zeros_like(source.padding, dtype=torch.float32)
    beams = Beams(batch, config, source_BS.device)
    limit = source_BS.shape[1] + config.extra_length
    first_B1 = torch.arange(batch, device=source_BS.device).unsqueeze(-1) * count
    states: list[State | None] = [None] * config.layers
    last = torch.full((batch * count, 1), model.begin, device=source_BS.device)
    for _ in range(limit):
        scores, weights, after = model.decode(last, source, states)
        covered = covered + weights[:, 0].float()
        bonus_BK = config.coverage_penalty * coverage(covered, words).view(batch, count)
        scores_BKV = scores[:, 0].float().log_softmax(-1).view(batch, count, -1)
        order = (first_B1 + beams.extend(scores_BKV, bonus_BK)).flatten()
        if not beams.can_improve(limit):
            break
        states = [(hidden[:, order], cell[:, order]) for hidden, cell in after]
        covered = covered[order]
        last = beams.words_BKL[:, :, -1].reshape(-1, 1)
    return beams.best()


def coverage(attention_BS: Tensor, words_BS: Tensor) -> Tensor:
    """Sum over the source's words of log(min(attention so far, 1)), (B,)."""
    logs_BS = attention_BS.clamp(1e-9, 1.0).log()
    return torch.where(words_BS, logs_BS, 0.0).sum(1)
