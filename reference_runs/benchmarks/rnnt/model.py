"""The recurrent transducer: encoder, prediction network and joint network.

Source: Graves, Sequence Transduction with Recurrent Neural Networks (2012); He et al., Streaming
End-to-end Speech Recognition for Mobile Devices (2019), for the stacking of frames in the encoder;
sizes and initial values of the benchmark's reference. Dimensions: B utterances, T frames, U symbols
plus one, F features, H width, V pieces and blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.rnnt.config import RnnT

State = tuple[Tensor, Tensor]
"""An LSTM's output and cell of each layer, (layers, B, H)."""

SYMBOLS_PER_FRAME = 30
"""Maximum symbols per frame in greedy decoding."""


class Transducer(nn.Module):
    """Logits of every symbol at every node of the lattice; parts are named as in the rules."""

    def __init__(self, config: RnnT) -> None:
        super().__init__()
        width, (before, after) = config.encoder_width, config.encoder_layers
        features = config.mel_bands * config.stacked_frames
        dropout, predicted = config.encoder_dropout, config.prediction_width
        self.pre_rnn = _lstm(features, width, before, dropout)
        self.post_rnn = _lstm(2 * width, width, after, dropout)
        self.pred_embed = nn.Embedding(config.pieces, config.prediction_embedding)
        self.dec_rnn = _lstm(
            config.prediction_embedding,
            predicted,
            config.prediction_layers,
            config.prediction_dropout,
        )
        self.joint_enc = nn.Linear(width, config.joint_width)
        self.joint_pred = nn.Linear(predicted, config.joint_width)
        self.joint_net = nn.Linear(config.joint_width, config.pieces + 1)
        self.encoder_dropout = nn.Dropout(dropout)
        self.prediction_dropout = nn.Dropout(config.prediction_dropout)
        self.joint_dropout = nn.Dropout(config.joint_dropout)
        for rnn in (self.pre_rnn, self.post_rnn, self.dec_rnn):
            _initialise(rnn, config.model_weights_initialization_scale)

    def encode(self, features_BTF: Tensor) -> Tensor:
        """Encode into half as many frames, for the joint network, (B, T/2, H)."""
        x_BTH, _ = self.pre_rnn(features_BTF)
        x_BTH = F.pad(self.encoder_dropout(x_BTH), (0, 0, 0, x_BTH.shape[1] % 2))
        batch, frames, width = x_BTH.shape
        x_BTH, _ = self.post_rnn(x_BTH.reshape(batch, frames // 2, 2 * width))
        y: Tensor = self.joint_enc(self.encoder_dropout(x_BTH))
        return y

    def predict(self, embedded_BUE: Tensor, state: State | None) -> tuple[Tensor, State]:
        """The prediction network's output for the symbols so far, (B, U, H)."""
        x_BUH, state = self.dec_rnn(embedded_BUE, state)
        return self.joint_pred(self.prediction_dropout(x_BUH)), state

    def join(self, encoded: Tensor, predicted: Tensor) -> Tensor:
        """Logits of all symbols and, last, of blank."""
        scores: Tensor = self.joint_net(self.joint_dropout(F.relu(encoded + predicted)))
        return scores

    def forward(self, features_BTF: Tensor, symbols_BU: Tensor) -> Tensor:
        """Logits at every node of the lattice, (B, T/2, U, V)."""
        embedded_BUE = F.pad(self.pred_embed(symbols_BU), (0, 0, 1, 0))  # zeros begin
        predicted_BUH, _ = self.predict(embedded_BUE, None)
        encoded_BTH = self.encode(features_BTF)
        return self.join(encoded_BTH.unsqueeze(2), predicted_BUH.unsqueeze(1))


def greedy(
    model: Transducer, features_BTF: Tensor, frames_B: Tensor, longest: int
) -> list[list[int]]:
    """The best symbol at each node until blank is best, frame by frame; at most `longest`."""
    encoded_BTH = model.encode(features_BTF)
    batch, blank = len(encoded_BTH), model.joint_net.out_features - 1
    start = features_BTF.new_zeros(batch, 1, model.pred_embed.embedding_dim)
    predicted_B1H, state = model.predict(start, None)
    decoded: list[list[int]] = [[] for _ in range(batch)]
    counts_B = torch.zeros(batch, dtype=torch.long, device=features_BTF.device)
    for frame in range(encoded_BTH.shape[1]):
        open_B = (frames_B > frame) & (counts_B < longest)
        for _ in range(SYMBOLS_PER_FRAME):
            best_B = model.join(encoded_BTH[:, frame], predicted_B1H[:, 0]).argmax(-1)
            open_B = open_B & (best_B != blank) & (counts_B < longest)
            chosen = open_B.nonzero().squeeze(1)
            if not len(chosen):
                break
            for utterance, symbol in zip(chosen.tolist(), best_B[chosen].tolist(), strict=True):
                decoded[utterance].append(symbol)
            counts_B = counts_B + open_B
            predicted_B1H, state = _after(model, best_B, chosen, (predicted_B1H, state))
    return decoded


def encode_and_extend(model: Transducer, features_BTF: Tensor) -> None:
    """The computation of `greedy` up to the first symbol, which every utterance has; for plans.

    Later steps need no more memory. `greedy` itself needs values: the number of its steps and of
    the utterances in each depends on them.
    """
    encoded_BTH = model.encode(features_BTF)
    start = features_BTF.new_zeros(len(encoded_BTH), 1, model.pred_embed.embedding_dim)
    predicted_B1H, state = model.predict(start, None)
    best_B = model.join(encoded_BTH[:, 0], predicted_B1H[:, 0]).argmax(-1)
    everyone = torch.arange(len(encoded_BTH), device=features_BTF.device)
    _after(model, best_B, everyone, (predicted_B1H, state))


def _after(
    model: Transducer, symbols_B: Tensor, chosen: Tensor, before: tuple[Tensor, State]
) -> tuple[Tensor, State]:
    """The prediction network's output and state after one more symbol of the chosen utterances."""
    predicted_B1H, state = before
    embedded = model.pred_embed(symbols_B[chosen]).unsqueeze(1)
    # A GPU's LSTM does not accept a non-contiguous state
    earlier = state[0][:, chosen].contiguous(), state[1][:, chosen].contiguous()
    new, now = model.predict(embedded, earlier)
    predicted_B1H = predicted_B1H.index_copy(0, chosen, new.type_as(predicted_B1H))
    return predicted_B1H, _replaced(state, chosen, now)


def _replaced(state: State, chosen: Tensor, now: State) -> State:
    first, second = (
        old.index_copy(1, chosen, new.type_as(old)) for old, new in zip(state, now, strict=True)
    )
    return first, second


def _lstm(width: int, hidden: int, layers: int, dropout: float) -> nn.LSTM:
    between = dropout if layers > 1 else 0.0
    return nn.LSTM(width, hidden, layers, batch_first=True, dropout=between)


def _initialise(rnn: nn.LSTM, scale: float) -> None:
    """Open each forget gate with one of its two biases, then scale all weights and biases."""
    with torch.no_grad():
        for name, parameter in rnn.named_parameters():
            if "bias" in name:
                parameter[rnn.hidden_size : 2 * rnn.hidden_size] = float("ih" in name)
            parameter.mul_(scale)
