"""MiniGo: board, search, network and schedule at both scales.

Source of the reference figures: the benchmark's loop of rounds 0.7 to 2.1 as published results
log it, and the network and search settings of its reference implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class MiniGo(Config):
    """Training by self-play. An epoch is a generation, a sample a position of a game."""

    name: ClassVar[str] = "minigo"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "win rate against a fixed player"
    rate_field: ClassVar[str] = "learning_rate_scale"

    # game
    board_size: int
    komi: float
    max_moves: int
    """Maximum moves, after which a game is scored as it stands."""

    # network
    conv_width: int
    trunk_layers: int
    fc_width: int

    # search
    num_readouts: int
    virtual_losses: int
    value_init_penalty: float = 0.2
    noise_alpha: float
    """Concentration of the Dirichlet noise at the roots in self-play."""
    noise_mix: float = 0.25
    """Weight of the noise in a root's priors."""
    match_readouts: int
    """Readouts of the new network in matches; `num_readouts` is for self-play."""
    fast_play_share: float = 0.0
    """Share of self-play moves with a quick search, which are not used for training."""
    fast_play_readouts: int = 1
    target_pruning: bool = False
    """Whether visits due to noise and exploration alone are excluded from training."""
    softpick_moves: int
    """Opening moves of self-play that are drawn by visits; later moves are the most visited."""
    match_softpick_moves: int
    """The same in matches, whose games would otherwise all be equal."""

    # self-play
    min_selfplay_games_per_generation: int
    parallel_games: int
    """Games that are played concurrently, and share the network's calls."""
    window_size: int
    """Generations whose games are used for training."""
    filter_amount: float
    """Share of the positions that are kept for training."""
    resign_thresholds: tuple[float, float]
    """A side resigns below a value between these, drawn for each game."""
    disable_resign_pct: float
    """Share of the games without resignation."""

    # training
    learning_rate_scale: float = 1.0
    lr_rates: tuple[float, ...]
    lr_boundaries: tuple[int, ...]
    opt_momentum: float = 0.9
    opt_weight_decay: float = 1e-4
    value_cost_weight: float

    # evaluation
    gating_win_rate: float
    """Win rate against the previous network that a new one needs to become the player."""
    gating_games: int
    opponent_readouts: int

    @property
    def rates(self) -> tuple[float, ...]:
        """The learning rates, one more than boundaries."""
        return tuple(rate * self.learning_rate_scale for rate in self.lr_rates)

    def records(self, round_name: str) -> Mapping[str, Any]:
        """Since 0.7 MiniGo has separate names for batch and learning rates."""
        rates, bounds = list(self.rates), list(self.lr_boundaries)
        common = super().records(round_name)
        own = {"lr_rates", "lr_boundaries", "min_selfplay_games_per_generation"}
        if version(round_name) < (0, 7):
            older = {
                "opt_base_learning_rate": rates,
                "opt_learning_rate_decay_boundary_steps": bounds,
            }
            return {name: value for name, value in common.items() if name not in own} | older
        newer = {"train_batch_size": self.global_batch_size, "lr_rates": rates}
        return {**common, **newer, "lr_boundaries": bounds}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """All tensor names, which round 1.1 required."""
        return tuple(tensor_names(self.trunk_layers)) if round_name == "1.1" else ()


def tensor_names(trunk_layers: int) -> list[str]:
    """The tensor names of the reference implementation, in its order."""
    tower = 2 * trunk_layers + 1
    names: list[str] = []
    for number in range(tower):
        names += [numbered("conv2d", number, "kernel")]
        names += [numbered("batch_normalization", number, part) for part in ("gamma", "beta")]
    names += [numbered("conv2d", tower, "kernel"), "dense/kernel", "dense/bias"]
    names += [numbered("conv2d", tower + 1, "kernel")]
    names += [numbered("dense", layer, part) for layer in (1, 2) for part in ("kernel", "bias")]
    return [*names, "global_step"]


def numbered(layer: str, number: int, part: str) -> str:
    """The name of a tensor in the layer with this number among its kind."""
    return f"{layer}_{number}/{part}" if number else f"{layer}/{part}"


def smoke() -> MiniGo:
    """A 5x5 board, against a search with no knowledge but the scoring rules."""
    return MiniGo(
        board_size=5,
        komi=6.5,
        max_moves=35,
        conv_width=24,
        trunk_layers=2,
        fc_width=32,
        num_readouts=16,
        match_readouts=16,
        virtual_losses=4,
        noise_alpha=0.43,
        softpick_moves=20,
        match_softpick_moves=6,
        min_selfplay_games_per_generation=96,
        parallel_games=96,
        window_size=5,
        filter_amount=1.0,
        # Unreachable, as values are at least -1: short games are played to the end
        resign_thresholds=(-2.0, -2.0),
        disable_resign_pct=0.0,
        lr_rates=(0.1, 0.03, 0.01),
        lr_boundaries=(400, 800),
        value_cost_weight=1.0,
        gating_win_rate=0.49,
        # No gating: each new network plays the next generation
        gating_games=0,
        opponent_readouts=24,
        global_batch_size=256,
        train_samples=256 * 48,
        eval_samples=64,
        target=0.5,
        last_step=48 * 10,
    )


def reference() -> MiniGo:
    """The benchmark of rounds 0.7 to 2.1 on the full board."""
    games, moves, batch = 8192, 200, 4096
    share, window = 0.3, 5
    return MiniGo(
        board_size=19,
        komi=7.5,
        max_moves=505,  # 1.4 times the points of the board
        conv_width=64,
        trunk_layers=6,
        fc_width=64,
        num_readouts=800,
        match_readouts=100,
        fast_play_share=0.75,
        fast_play_readouts=80,
        target_pruning=True,
        noise_mix=0.3,
        virtual_losses=4,
        noise_alpha=0.03,
        softpick_moves=30,
        match_softpick_moves=30,
        min_selfplay_games_per_generation=games,
        parallel_games=64,
        window_size=window,
        filter_amount=share,
        resign_thresholds=(-1.0, -0.9),
        disable_resign_pct=0.0,
        lr_rates=(0.016, 0.16, 0.016, 0.0016),
        lr_boundaries=(128, 10_000, 20_000),
        value_cost_weight=0.5,
        gating_win_rate=0.49,
        gating_games=256,
        opponent_readouts=100,
        global_batch_size=batch,
        # Part of a full window of games with 200 moves; published logs have varying counts.
        train_samples=int(games * moves * share * window) // batch * batch,
        eval_samples=256,
        target=0.5,
        last_step=200 * int(games * moves * share * window) // batch,
    )


BENCHMARKS = (
    Benchmark(
        name="minigo",
        title="Reinforcement learning: MiniGo by self-play",
        smoke=smoke,
        reference=reference,
        data="checkpoint.npz and target.npz, the networks to begin with and to play against",
        rounds=("0.7", "1.0", "1.1", "2.0", "2.1"),
        division="open",
    ),
)
