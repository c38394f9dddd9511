"""Beam search with a length penalty, for a batch of sentences at once.

Dimensions: B sentences, K beams, L tokens so far, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from podium.reference_runs.modeling.translation_config import TranslationConfig

PAD, END = 0, 1
"""Ids of special tokens."""
IMPOSSIBLE = -1e9


def penalty(length: int, strength: float) -> float:
    """The divisor of a log probability (Wu et al., 2016): ((5 + length) / 6) ^ strength."""
    return float(((5 + length) / 6) ** strength)


class Beams:
    """The open and the finished translations of each sentence, best first."""

    def __init__(self, batch: int, config: TranslationConfig, device: torch.device) -> None:
        count = config.beams
        self.strength = config.length_penalty
        self.open_BK = torch.full((batch, count), IMPOSSIBLE, device=device)
        self.open_BK[:, 0] = 0.0  # all beams start equal: only one may count
        self.words_BKL = torch.full((batch, count, 1), PAD, device=device)
        self.ended_BK = torch.full((batch, count), IMPOSSIBLE, device=device)
        self.ended_words_BKL = self.words_BKL

    def extend(self, scores_BKV: Tensor, bonus_BK: Tensor | float = 0.0) -> Tensor:
        """Add the best tokens; returns which open beam each new one continues, (B, K).

        `bonus_BK`, 0 or less, is added to the scores of beams that end here.
        """
        total_BKV = self.open_BK.unsqueeze(-1) + scores_BKV
        length, count = self.words_BKL.shape[2], self.open_BK.shape[1]
        self._end(total_BKV[..., END] / penalty(length, self.strength) + bonus_BK)
        total_BKV[..., END] = IMPOSSIBLE
        self.open_BK, best_BK = total_BKV.flatten(1).topk(count)
        origin_BK = best_BK // scores_BKV.shape[-1]
        word_BK1 = (best_BK % scores_BKV.shape[-1]).unsqueeze(-1)
        self.words_BKL = torch.cat((_select_rows(self.words_BKL, origin_BK), word_BK1), -1)
        return origin_BK

    def _end(self, ending_BK: Tensor) -> None:
        """Let each open beam end here, and keep the best of all finished ones."""
        longer = self.words_BKL.shape[2] - self.ended_words_BKL.shape[2]
        filled = torch.nn.functional.pad(self.ended_words_BKL, (0, longer), value=PAD)
        words = torch.cat((filled, self.words_BKL), 1)
        self.ended_BK, best_BK = torch.cat((self.ended_BK, ending_BK), 1).topk(ending_BK.shape[1])
        self.ended_words_BKL = _select_rows(words, best_BK)

    def can_improve(self, limit: int) -> bool:
        """Whether an open beam can still beat the best finished one, at any length.

        True without values, so that a plan searches up to the limit.
        """
        # Sums only decrease, and the longest length has the largest divisor: an upper bound
        hope_B = self.open_BK[:, 0] / penalty(limit, self.strength)
        return bool((self.ended_BK[:, 0] < hope_B).any())

    def best(self) -> list[list[int]]:
        """The best translation of each sentence, without the begin and end tokens."""
        best_BL = torch.where(
            self.ended_BK[:, :1] > IMPOSSIBLE / 2,
            *_padded_alike(self.ended_words_BKL[:, 0], self.words_BKL[:, 0]),
        )
        return [[word for word in row if word != PAD] for row in best_BL.tolist()]


def _select_rows(words_BNL: Tensor, which_BK: Tensor) -> Tensor:
    """Rows of each sentence by index, (B, K, L)."""
    return words_BNL.gather(1, which_BK.unsqueeze(-1).expand(-1, -1, words_BNL.shape[2]))


def _padded_alike(first_BL: Tensor, second_BL: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors, padded to the same length."""
    longest = max(first_BL.shape[1], second_BL.shape[1])
    grown = [
        torch.nn.functional.pad(words, (0, longest - words.shape[1]), value=PAD)
        for words in (first_BL, second_BL)
    ]
    return grown[0], grown[1]
