"""The MiniGo task of the shared loop: a generation of games before each epoch, and matches."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.logging_spec import keys
from podium.reference_runs.benchmarks.minigo.board import Goban
from podium.reference_runs.benchmarks.minigo.config import MiniGo
from podium.reference_runs.benchmarks.minigo.data import Window, concatenated, load_network
from podium.reference_runs.benchmarks.minigo.games import (
    Network,
    Player,
    Territory,
    match,
    self_play,
)
from podium.reference_runs.benchmarks.minigo.model import DualNet
from podium.reference_runs.benchmarks.minigo.search import Search
from podium.reference_runs.engine.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.logging_spec import Logger
    from podium.reference_runs.benchmarks.minigo.games import Examples

SELF_PLAY, SYMMETRY, GATE, EVALUATION = range(4)
"""The purpose of a game or a random draw, as part of its seed."""


class SelfPlay(Task[MiniGo]):
    """Training by self-play; the quality is the win rate against a fixed player."""

    files: ClassVar[tuple[str, ...]] = ("checkpoint.npz", "target.npz")
    data_grow: ClassVar[bool] = True

    model: DualNet
    best: DualNet
    """The network that plays: the last one that was not worse than its predecessor."""

    def prepare(self) -> None:
        """Set up the board and the fixed player; no dataset is needed."""
        self.goban = Goban(self.config.board_size)
        self.window = Window(self.config)
        self.generation = 0
        self.opponent = self._opponent()

    def _opponent(self) -> Player:
        config = self.config
        if self.setting.scale == "smoke":
            judge = Territory(self.goban, config.komi)
            return Player(self._search(config.opponent_readouts), judge)
        target = DualNet(config)
        load_network(target, self.data_folder / "target.npz")
        return self._player(target, config.opponent_readouts)

    def build(self) -> nn.Module:
        """The network, with random weights or, at reference scale, the benchmark's initial ones."""
        self.model = DualNet(self.config)
        if self.setting.scale == "reference":
            load_network(self.model, self.data_folder / "checkpoint.npz")
        self.best = copy.deepcopy(self.model)
        return self.model

    def stage(self, log: Logger) -> None:
        """Record the start time, and keep the log, in which each generation reports its games."""
        self._log, self._began = log, time.monotonic()

    def open_data(self) -> None:
        """Nothing: games are played during training."""

    def samples(self) -> tuple[int, int]:
        """Positions drawn per generation, and games per evaluation, in place of a dataset."""
        return self.config.train_samples, self.config.eval_samples

    # --- players ---

    def _search(self, readouts: int) -> Search:
        config = self.config
        return Search(
            readouts=readouts,
            virtual_losses=config.virtual_losses,
            value_init_penalty=config.value_init_penalty,
            noise_mix=config.noise_mix,
            komi=config.komi,
        )

    def _player(self, model: DualNet, readouts: int) -> Player:
        judge = Network(self.goban, model.to(self.device).eval(), self.device)
        return Player(self._search(readouts), judge)

    def _chunks(self, count: int) -> list[range]:
        """Groups of concurrent games, which ranks divide; independent of the number of ranks."""
        size = self.config.parallel_games
        return [range(first, min(first + size, count)) for first in range(0, count, size)]

    def _seeds(self, games: range, *what: int) -> list[list[int]]:
        return [[self.setting.seed, *what, game] for game in games]

    # --- self-play ---

    def batches(self, epoch: int, first: int) -> Iterator[Any]:
        """Play a generation of games, then draw batches from the window."""
        self._play_generation(epoch)
        yield from super().batches(epoch, first)

    def _play_generation(self, epoch: int) -> None:
        config = self.config
        count = config.min_selfplay_games_per_generation
        player = self._player(self.best, config.num_readouts)
        mine: list[Examples] = [
            self_play(self.goban, config, player, self._seeds(games, SELF_PLAY, epoch))
            for games in self.ranks.share(self._chunks(count))
        ]
        shares = self.ranks.gather(mine)
        # Each rank played every n-th part, n the number of ranks: restore the order of games.
        parts = [
            share[index]
            for index in range(len(shares[0]))
            for share in shares
            if index < len(share)
        ]
        self.window.add(concatenated(parts), self._draw(SYMMETRY, epoch))
        self._log.event(
            keys.ACTUAL_SELFPLAY_GAMES_PER_GENERATION, count, metadata={"epoch_num": epoch}
        )

    def _draw(self, *what: int) -> np.random.Generator:
        return np.random.default_rng([self.setting.seed, *what])

    def order(self, epoch: int) -> Sequence[int]:
        """Positions drawn from the whole window, with replacement."""
        drawn: Sequence[int] = self._draw(SYMMETRY, epoch, 1).integers(  # type: ignore[assignment]
            0, len(self.window), self.config.train_samples
        )
        return drawn

    def training_data(self) -> Window:
        """The window of recent positions."""
        return self.window

    # --- training ---

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """SGD with momentum and weight decay for all weights."""
        config = self.config
        sgd = self.optimizer(
            torch.optim.SGD,
            list(model.parameters()),
            momentum=config.opt_momentum,
            weight_decay=config.opt_weight_decay,
        )
        return [sgd]

    def learning_rate(self, step: int) -> float:
        """Constant between the boundaries."""
        passed = sum(step > boundary for boundary in self.config.lr_boundaries)
        return self.config.rates[passed]

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Loss:
        """Cross-entropy to the shares of visits, plus the squared error of the outcome."""
        planes, policy, outcome = (part.to(self.device, non_blocking=True) for part in batch)
        scores, value = model(planes)
        guess = F.cross_entropy(scores.float(), policy, reduction="sum")
        error = F.mse_loss(value.float(), outcome, reduction="sum")
        return Loss(guess + self.config.value_cost_weight * error, len(outcome))

    def after_step(self, model: nn.Module, step: int) -> None:
        """At a generation's end, let the new network play unless it is worse than the last."""
        self.model.global_step += 1
        if step % self.config.steps_per_epoch:
            return
        generation = step // self.config.steps_per_epoch
        self._saved = time.monotonic() - self._began
        self._log.event(keys.SAVE_MODEL, {"iteration": generation})
        model.eval()
        if self._is_promoted(generation):
            self.best = copy.deepcopy(self.model)

    def _is_promoted(self, generation: int) -> bool:
        config = self.config
        if not config.gating_games:
            return True
        new, old = (self._player(model, config.match_readouts) for model in (self.model, self.best))
        wins = self._wins((new, old), config.gating_games, GATE, generation)
        return wins >= config.gating_win_rate * config.gating_games

    # --- evaluation ---

    def evaluate(self, model: nn.Module) -> float:
        """The share of games that the new network wins against the fixed player."""
        config = self.config
        player = self._player(self.model, config.match_readouts)
        wins = self._wins((player, self.opponent), config.eval_samples, EVALUATION)
        rate = wins / config.eval_samples
        if config.reached(rate):
            generation = int(self.model.global_step) // config.steps_per_epoch
            # In 0.6 this timestamp is the score: when the winning network was saved
            metadata = {"iteration": generation, "timestamp": self._saved}
            self._log.event(keys.EVAL_RESULT, rate, metadata={**metadata, "epoch_num": generation})
        return rate

    def _wins(self, players: tuple[Player, Player], count: int, *what: int) -> int:
        mine = [
            match(self.goban, self.config, players, self._seeds(games, *what))
            for games in self.ranks.share(self._chunks(count))
        ]
        wins = torch.tensor(sum(mine), dtype=torch.float64, device=self.device)
        return int(self.ranks.sum(wins))


TASK = SelfPlay
