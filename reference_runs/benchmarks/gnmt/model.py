"""GNMT, written from Wu et al., Google's Neural Machine Translation System (2016).

As in the benchmark's reference, only the first layer of the encoder is bidirectional, one embedding
serves both languages, and attention (Bahdanau et al., 2015; normalized by Salimans and Kingma,
2016) uses the first layer of the decoder as the query; each later layer receives its output.
Dimensions: B batch, S source length, L target length, D model width, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from podium.reference_runs.modeling.beams import PAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.benchmarks.gnmt.config import Gnmt

MASKED = -65504.0
"""Score of padding: the lowest number of half precision."""

State = tuple[Tensor, Tensor]
"""Hidden and cell state of an LSTM, each (1, B, D)."""


class Source(NamedTuple):
    """An encoded source and its projection to keys, (B, S, D), and its padding mask, (B, S)."""

    encoded: Tensor
    keys: Tensor
    padding: Tensor

    def repeated(self, count: int) -> Source:
        """Repeat each sentence `count` times."""
        return Source(*(tensor.repeat_interleave(count, 0) for tensor in self))


class Attention(nn.Module):
    """Additive attention with a learned scale of its vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.direction = nn.Parameter(torch.empty(width).uniform_(-1, 1) / math.sqrt(width))
        self.length = nn.Parameter(torch.tensor([1 / math.sqrt(width)]))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x_BLD: Tensor, source: Source) -> tuple[Tensor, Tensor]:
        """The attention output (B, L, D), and the weights of the source's words (B, L, S)."""
        both_BLSD = self.query(x_BLD)[:, :, None] + source.keys[:, None] + self.bias
        vector_D = self.length * self.direction / self.direction.norm()
        scores_BLS = both_BLSD.tanh() @ vector_D
        scores_BLS = scores_BLS.masked_fill(source.padding[:, None], MASKED)
        weights_BLS = scores_BLS.softmax(-1, dtype=torch.float32).type_as(scores_BLS)
        return weights_BLS @ source.encoded, weights_BLS


class RecurrentTranslator(nn.Module):
    """Encoder and decoder of LSTMs."""

    def __init__(self, config: Gnmt) -> None:
        super().__init__()
        width, layers, bound = config.width, config.layers, config.initial_bound
        self.begin = config.vocabulary - 1
        self.has_padding = True
        """Whether sentences differ in length; not in plans, which have no values."""
        self.embedding = nn.Embedding(config.vocabulary, width, padding_idx=PAD)
        self.encoder = nn.ModuleList(
            _lstm(2 * width if index == 1 else width, width, bound, bidirectional=index == 0)
            for index in range(layers)
        )
        self.decoder = nn.ModuleList(
            _lstm(width if index == 0 else 2 * width, width, bound) for index in range(layers)
        )
        self.attention = Attention(width)
        self.output = nn.Linear(width, config.vocabulary)
        self.dropout = nn.Dropout(config.dropout)
        matrices = (self.attention.query, self.attention.key, self.output, self.embedding)
        for parameter in (weight for module in matrices for weight in module.parameters()):
            nn.init.uniform_(parameter, -bound, bound)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0

    def encode(self, source_BS: Tensor) -> Source:
        """Encode the source, with a begin token in front."""
        source_BS = F.pad(source_BS, (1, 0), value=self.begin)
        x_BSD = self._both_ways(self.embedding(source_BS), (source_BS != PAD).sum(1))
        for index, layer in enumerate(self.encoder[1:], 1):
            y_BSD = layer(self.dropout(x_BSD))[0]
            x_BSD = y_BSD + x_BSD if index > 1 else y_BSD
        return Source(x_BSD, self.attention.key(x_BSD), source_BS == PAD)

    def _both_ways(self, x_BSD: Tensor, lengths_B: Tensor) -> Tensor:
        """The first layer, whose backward direction must not start with padding."""
        if not self.has_padding:
            return self.encoder[0](self.dropout(x_BSD))[0]  # type: ignore[no-any-return]
        packed = pack_padded_sequence(
            self.dropout(x_BSD), lengths_B.cpu(), batch_first=True, enforce_sorted=False
        )
        y, _ = pad_packed_sequence(
            self.encoder[0](packed)[0], batch_first=True, total_length=x_BSD.shape[1]
        )
        return y

    def decode(
        self, tokens_BL: Tensor, source: Source, states: Sequence[State | None]
    ) -> tuple[Tensor, Tensor, list[State]]:
        """Scores of what follows each token (B, L, V), attention (B, L, S), states after them."""
        x_BLD, first = self.decoder[0](self.dropout(self.embedding(tokens_BL)), states[0])
        found_BLD, weights_BLS = self.attention(x_BLD, source)
        after = [first]
        for index, layer in enumerate(self.decoder[1:], 1):
            y_BLD, state = layer(self.dropout(torch.cat((x_BLD, found_BLD), -1)), states[index])
            x_BLD = y_BLD + x_BLD if index > 1 else y_BLD
            after.append(state)
        return self.output(x_BLD), weights_BLS, after

    def forward(self, source_BS: Tensor, target_BL: Tensor) -> Tensor:
        """Scores of each target word given those before it, (B, L, V)."""
        before_BL = F.pad(target_BL[:, :-1], (1, 0), value=self.begin)
        return self.decode(before_BL, self.encode(source_BS), [None] * len(self.decoder))[0]


def _lstm(inputs: int, width: int, bound: float, *, bidirectional: bool = False) -> nn.LSTM:
    lstm = nn.LSTM(inputs, width, batch_first=True, bidirectional=bidirectional)
    for name, parameter in lstm.named_parameters():
        nn.init.uniform_(parameter, -bound, bound)
        # torch has two biases, one of which is redundant
        if name.startswith("bias_hh"):
            nn.init.zeros_(parameter)
    return lstm
