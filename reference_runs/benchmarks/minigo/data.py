"""The window of recent games, and networks stored under the benchmark's tensor names."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.benchmarks.minigo.games import PLANES, Examples
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.minigo.config import MiniGo
    from podium.reference_runs.benchmarks.minigo.model import DualNet

SYMMETRIES = 8
"""Number of rotations and reflections of a board."""


def concatenated(parts: Sequence[Examples]) -> Examples:
    """All examples of several sources, in order."""
    return Examples(
        np.concatenate([part.planes for part in parts]),
        np.concatenate([part.policy for part in parts]),
        np.concatenate([part.outcome for part in parts]),
    )


class Window(torch.utils.data.Dataset[Any]):
    """The positions of the last generations, each randomly rotated or reflected."""

    def __init__(self, config: MiniGo) -> None:
        self._config = config
        self._generations: deque[Examples] = deque(maxlen=config.window_size)
        self._all: Examples
        self._turns: NDArray[np.int64]

    def add(self, games: Examples, draw: np.random.Generator) -> None:
        """Add a generation, and remove the oldest; `draw` chooses the symmetries."""
        if self._config.shuffled_labels:
            other = draw.permutation(len(games.outcome))
            games = Examples(games.planes, games.policy[other], games.outcome[other])
        self._generations.append(games)
        self._all = concatenated(self._generations)
        self._turns = draw.integers(0, SYMMETRIES, len(self))

    def __len__(self) -> int:
        return len(self._all.outcome)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Planes (B, PLANES, N, N), shares of visits (B, A) and outcomes (B,)."""
        rows, size = np.asarray(indices), self._config.board_size
        bits = np.unpackbits(self._all.planes[rows], axis=1, count=PLANES * size * size)
        planes = bits.reshape(len(rows), PLANES, size, size)
        policy = self._all.policy[rows].astype(np.float32)
        # Shares of points are transformed with the board; that of the pass is unchanged
        board = policy[:, None, :-1].reshape(len(rows), 1, size, size)
        both = np.concatenate((planes.astype(np.float32), board), axis=1)
        for turn in range(SYMMETRIES):
            mine = self._turns[rows] == turn
            both[mine] = turned(both[mine], turn)
        policy[:, :-1] = both[:, -1].reshape(len(rows), -1)
        outcome = torch.from_numpy(self._all.outcome[rows])
        return torch.from_numpy(both[:, :-1].copy()), torch.from_numpy(policy), outcome


def turned(boards: NDArray[Any], turn: int) -> NDArray[Any]:
    """Boards (…, N, N) after a number of quarter turns; from 4 on they are reflected first."""
    mirrored = boards[..., ::-1] if turn >= SYMMETRIES // 2 else boards
    return np.rot90(mirrored, turn % 4, axes=(-2, -1))


def load_network(model: DualNet, path: Path) -> None:
    """Fill a network with the tensors of a NumPy archive, named and laid out as in TensorFlow.

    Raises DataMissing if the file or a tensor is missing or has another shape.
    """
    try:
        with np.load(path) as archive:
            tensors = {name: torch.from_numpy(archive[name]) for name in archive.files}
    except (OSError, ValueError) as error:
        raise DataMissing(f"{path} cannot be read as a NumPy archive: {error}") from None
    state = model.state_dict()
    for ours, published in model.names().items():
        if published not in tensors:
            raise DataMissing(f"{path} has no tensor {published}")
        state[ours] = _in_torch_layout(
            tensors[published], state[ours], points=model.moves.out_features - 1
        )
        if state[ours].shape != model.state_dict()[ours].shape:
            raise DataMissing(f"{path}: {published} has shape {tuple(tensors[published].shape)}")
    model.load_state_dict(state)


def _in_torch_layout(tensor: Tensor, like: Tensor, points: int) -> Tensor:
    """A tensor with its axes in torch's order: outputs first, channels before cells."""
    tensor = tensor.to(like.dtype)
    if tensor.dim() == 4:  # height, width, inputs, outputs
        return tensor.permute(3, 2, 0, 1)
    if tensor.dim() != 2:
        return tensor
    inputs, outputs = tensor.shape
    if inputs % points == 0:  # a flattened board with its channels last
        tensor = tensor.view(points, inputs // points, outputs).transpose(0, 1)
    return tensor.reshape(inputs, outputs).T
