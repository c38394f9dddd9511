"""The transducer loss: the total probability of all alignments, written from Graves (2012).

Sequence Transduction with Recurrent Neural Networks, sections 2.3 and 2.4. A path through the
lattice starts at frame 0 without a symbol; blank moves to the next frame, a symbol stays at its
frame. Dimensions: B utterances, T frames, U symbols plus one, V pieces and blank, N diagonals.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

NEVER = -1e30
"""Log probability of impossible events; finite, so that gradients are finite."""


def transducer_loss(
    scores_BTUV: Tensor, symbols_BU: Tensor, frames_B: Tensor, counts_B: Tensor
) -> Tensor:
    """The negative log probability of each utterance's symbols, (B,); blank is the last of V.

    `symbols_BU` has U - 1 columns, of which `counts_B` are symbols; of T frames `frames_B`.
    """
    logs_BTUV = scores_BTUV.float().log_softmax(-1)
    blank_BTU = logs_BTUV[..., -1]
    wanted = symbols_BU[:, None, :, None].expand(-1, scores_BTUV.shape[1], -1, -1)
    symbol_BTU = F.pad(logs_BTUV[:, :, :-1].gather(3, wanted).squeeze(-1), (0, 1), value=NEVER)
    blank_NBU, symbol_NBU = skewed(blank_BTU), skewed(symbol_BTU)
    alpha_NBU = forward_sums(blank_NBU, symbol_NBU)
    utterance = torch.arange(len(frames_B), device=frames_B.device)
    last = frames_B - 1 + counts_B, utterance, counts_B  # the last frame, after all symbols
    return -(alpha_NBU[last] + blank_NBU[last])


def skewed(values_BTU: Tensor) -> Tensor:
    """Row n has the lattice's diagonal t + u = n, with NEVER outside of the lattice."""
    batch, frames, width = values_BTU.shape
    diagonal_N1 = torch.arange(frames + width - 1, device=values_BTU.device).unsqueeze(1)
    frame_NU = diagonal_N1 - torch.arange(width, device=values_BTU.device)
    there_NU = (frame_NU >= 0) & (frame_NU < frames)
    index_BNU = frame_NU.clamp(0, frames - 1).expand(batch, -1, -1)
    found_BNU = values_BTU.gather(1, index_BNU).masked_fill(~there_NU, NEVER)
    return found_BNU.transpose(0, 1)


def forward_sums(blank_NBU: Tensor, symbol_NBU: Tensor) -> Tensor:
    """Log probability of reaching each node; all nodes of a diagonal at once."""
    alpha_BU = torch.full_like(blank_NBU[0], NEVER)
    alpha_BU = alpha_BU.index_fill(1, torch.zeros(1, dtype=torch.long, device=alpha_BU.device), 0)
    rows = [alpha_BU]
    for blank_BU, symbol_BU in zip(blank_NBU[:-1], symbol_NBU[:-1], strict=True):
        said_BU = F.pad((alpha_BU + symbol_BU)[:, :-1], (1, 0), value=NEVER)
        alpha_BU = torch.logaddexp(alpha_BU + blank_BU, said_BU)
        rows.append(alpha_BU)
    return torch.stack(rows)
