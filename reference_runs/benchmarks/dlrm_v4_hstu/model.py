"""HSTU: attention without softmax over a listener's history, and embedding tables.

Written from Zhai et al., "Actions Speak Louder than Words", 2024 (arXiv 2402.17152), and the
description of the benchmark's reference (parts, widths, initialization). Dimensions: B samples, C
contexts, L events, S = C + L, D width, W embedding width, H heads, E head width.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import CONTEXTS, POOLS
from podium.reference_runs.modeling.recompute import recomputed
from podium.reference_runs.modeling.tables import Tables, table

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import DlrmV4

TRACK, CONTEXT = range(3), range(3, 3 + CONTEXTS)
"""Indices of the tables for items, artists and albums, and for the contexts."""
ACTION_WIDTH = 8
PERIODS = ((3600, 24), (24 * 3600, 7))
"""Hour of the day and day of the week: seconds of a unit, and units of a period."""


class SwishNorm(nn.LayerNorm):
    """x times the sigmoid of its layer norm."""

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to the same shape."""
        return x * super().forward(x).sigmoid()


def perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two layers, with a layer norm after the second."""
    layers = nn.Linear(inputs, hidden), SwishNorm(hidden), nn.Linear(hidden, outputs)
    return nn.Sequential(*layers, nn.LayerNorm(outputs))


class Actions(nn.Module):
    """The action on each track: an embedding for each bit, and one for the candidate."""

    bits: Tensor

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(POOLS, ACTION_WIDTH))
        self.candidate = nn.Parameter(torch.empty(POOLS * ACTION_WIDTH))
        self.mlp = perceptron(POOLS * ACTION_WIDTH, hidden, width)
        self.register_buffer("bits", 2 ** torch.arange(POOLS, device="cpu"), persistent=False)

    def forward(self, actions_BL: Tensor, candidate_B: Tensor) -> Tensor:
        """(B, L) bits to (B, L, D)."""
        done = (actions_BL[..., None] & self.bits) > 0
        embedded = (done[..., None] * self.table).flatten(2)
        places = torch.arange(actions_BL.shape[1], device=actions_BL.device)
        is_candidate = (places == candidate_B[:, None])[..., None]
        x: Tensor = self.mlp(torch.where(is_candidate, self.candidate, embedded))
        return x


class Contexts(nn.Module):
    """A linear layer for each context."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(CONTEXTS, inputs, width))
        self.bias = nn.Parameter(torch.empty(CONTEXTS, width))

    def forward(self, x_BCW: Tensor) -> Tensor:
        """(B, C, W) to (B, C, D)."""
        return torch.einsum("bcw,cwd->bcd", x_BCW, self.weight) + self.bias


class Positions(nn.Module):
    """Embeddings of positions, counted back from the candidate, and of the elapsed time."""

    def __init__(self, config: DlrmV4) -> None:
        super().__init__()
        self.places = nn.Embedding(config.position_buckets, config.width)
        self.times = nn.Embedding(config.time_buckets + 1, config.width)

    def forward(self, x_BSD: Tensor, times_BL: Tensor, candidate_B: Tensor) -> Tensor:
        """(B, S, D) to the same shape."""
        columns = torch.arange(x_BSD.shape[1], device=x_BSD.device)
        back = (CONTEXTS + candidate_B[:, None] - columns).clamp(min=0) + CONTEXTS
        place_BS = torch.where(columns < CONTEXTS, columns, back)
        place_BS = place_BS.clamp(max=self.places.num_embeddings - 1)
        asked_B = times_BL.gather(1, candidate_B[:, None])
        # Contexts have no time; the reference gives them the first one
        passed_BS = asked_B - F.pad(times_BL, (CONTEXTS, 0))
        minutes_BS = passed_BS.clamp(min=0).float() / 60
        bucket_BS = minutes_BS.sqrt().long().clamp(max=self.times.num_embeddings - 1)
        places, times = self.places(place_BS), self.times(bucket_BS)
        x: Tensor = x_BSD * math.sqrt(x_BSD.shape[-1]) + places + times
        return x


class Layer(nn.Module):
    """A sequential transduction unit: gated causal attention with SiLU and residual connection."""

    def __init__(self, config: DlrmV4) -> None:
        super().__init__()
        inner = config.heads * config.head_width
        self.heads, self.longest = config.heads, config.max_sequence_length
        self.norm = nn.LayerNorm(config.width, eps=1e-6)
        self.uvqk = nn.Linear(config.width, 4 * inner)
        self.attention_norm = nn.LayerNorm(inner, eps=1e-6)
        self.dropout = nn.Dropout(config.linear_dropout)
        self.out = nn.Linear(3 * inner, config.width, bias=False)

    def forward(self, x_BSD: Tensor) -> Tensor:
        """(B, S, D) to the same shape."""
        u, v, q, k = self.uvqk(self.norm(x_BSD)).chunk(4, dim=-1)
        u = F.silu(u)
        v_BHSE, q_BHSE, k_BHSE = (
            projected.unflatten(-1, (self.heads, -1)).transpose(1, 2) for projected in (v, q, k)
        )
        scores_BHSS = q_BHSE @ k_BHSE.mT / math.sqrt(q_BHSE.shape[-1])
        # Divided by the maximum length, so that the length of the batch does not matter
        weights_BHSS = (F.silu(scores_BHSS) / self.longest).tril()
        heard = (weights_BHSS @ v_BHSE).transpose(1, 2).flatten(2)
        gated = u * self.attention_norm(heard)
        y: Tensor = x_BSD + self.out(self.dropout(torch.cat((u, heard, gated), dim=-1)))
        return y


class CandidateHead(nn.Module):
    """The layers' output for the candidate, with the hour and the day of the week."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width + 2 * len(PERIODS), width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x_BD: Tensor, time_B: Tensor) -> Tensor:
        """(B, D) and seconds, (B,), to (B, D)."""
        turns = [(time_B // unit % count).to(x_BD) / count for unit, count in PERIODS]
        angles = 2 * math.pi * torch.stack(turns, dim=-1)
        y: Tensor = self.norm(self.linear(torch.cat((x_BD, angles.cos(), angles.sin()), dim=-1)))
        return y


class DlrmHstu(nn.Module):
    """Tables, the listener's side with HSTU layers, the candidate's side, and their combination."""

    def __init__(self, config: DlrmV4) -> None:
        super().__init__()
        wide, width, hidden = config.table_width, config.width, config.hidden_width
        self.tables = Tables(
            table(rows, wide, config.sparse_gradients)
            for rows in (*config.rows, *config.cross_rows)
        )
        self.item = perceptron(wide, hidden, width)
        self.origin = perceptron(2 * wide, hidden, width)
        self.actions = Actions(hidden, width)
        self.contexts = Contexts(wide, width)
        self.positions = Positions(config)
        self.dropout = nn.Dropout(config.input_dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.hstu_attn_num_layers))
        self.asked = CandidateHead(width)
        inner = config.head_hidden_width
        self.candidate = perceptron(3 * wide, inner, width)
        self.head = nn.Sequential(nn.Linear(width, inner), SwishNorm(inner), nn.Linear(inner, 1))
        self.recompute = config.recompute
        for name, weight in self.named_parameters():
            if not name.startswith("tables."):
                _fill(weight, *first_numbers(name, weight.shape))

    def forward(
        self,
        contexts_BC: Tensor,
        events_BL3: Tensor,
        actions_BL: Tensor,
        times_BL: Tensor,
        candidate_B: Tensor,
    ) -> Tensor:
        """Log odds that at least half of the candidate is heard, (B,)."""
        item, artist, album = self._looked_up(events_BL3, TRACK)
        x_BLD = self.item(item) + self.origin(torch.cat((artist, album), dim=-1))
        x_BLD = x_BLD + self.actions(actions_BL, candidate_B)
        contexts = self._looked_up(contexts_BC[:, None], CONTEXT)
        before_BCD = self.contexts(torch.cat(contexts, dim=1))
        x_BSD = torch.cat((before_BCD, x_BLD), dim=1)
        x_BSD = self.dropout(self.positions(x_BSD, times_BL, candidate_B))
        for layer in self.layers:
            x_BSD = recomputed(self.recompute, layer, x_BSD)
        rows = torch.arange(len(candidate_B), device=candidate_B.device)
        listener_BD = self.asked(x_BSD[rows, CONTEXTS + candidate_B], times_BL[rows, candidate_B])
        track = torch.cat(
            [embedded[rows, candidate_B] for embedded in (item, artist, album)], dim=-1
        )
        odds: Tensor = self.head(listener_BD * self.candidate(track))
        return odds.squeeze(-1)

    def _looked_up(self, ids: Tensor, numbers: range) -> list[Tensor]:
        """Rows of some tables: ids (B, N, T), one per table, to (B, N, W) for each."""
        bags = [column.reshape(-1, 1) for column in ids.unbind(-1)]
        embedded = self.tables(bags, numbers)
        return [rows.view(*ids.shape[:2], -1) for rows in embedded]


def first_numbers(name: str, shape: torch.Size) -> tuple[str, float]:
    """The reference's initialization of a tensor: a distribution and its bound or deviation."""
    if name.startswith(("tables.", "positions.")):
        # The bucket beyond the last one does not count
        rows = shape[0] - 1 if name == "positions.times.weight" else shape[0]
        return "uniform", math.sqrt(1 / rows)
    if name in ("actions.table", "actions.candidate"):
        return "normal", 0.1
    if name.endswith("bias"):
        return "constant", 0.0
    if len(shape) == 1:
        return "constant", 1.0
    sides = sum(shape[-2:])
    if name.startswith(("layers.", "candidate.", "head.")):
        return "uniform", math.sqrt(6 / sides)
    return "normal", math.sqrt(2 / sides)


@torch.no_grad()
def _fill(weight: Tensor, kind: str, size: float) -> None:
    if kind == "uniform":
        weight.uniform_(-size, size)
    elif kind == "normal":
        weight.normal_(0.0, size)
    else:
        weight.fill_(size)
