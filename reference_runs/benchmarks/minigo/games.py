"""Games: the network's input, the players, and whole games of self-play and matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from podium.reference_runs.benchmarks.minigo.board import HISTORY
from podium.reference_runs.benchmarks.minigo.grid import BLACK, WHITE
from podium.reference_runs.benchmarks.minigo.search import Forest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from podium.reference_runs.benchmarks.minigo.board import Goban, Positions
    from podium.reference_runs.benchmarks.minigo.config import MiniGo
    from podium.reference_runs.benchmarks.minigo.grid import Array
    from podium.reference_runs.benchmarks.minigo.search import Evaluate, Search

PLANES = 2 * HISTORY + 1 + 3 + 1


def planes(goban: Goban, positions: Positions) -> Array:
    """Binary planes, (B, PLANES, size, size), as bytes.

    Own and other stones of the last four boards, whether black is to play, groups with one, two,
    or more liberties, and points where a move would capture.
    """
    boards = positions.boards[:, :, goban.place_of]
    turn = positions.to_play[:, None, None]
    seen = np.zeros((len(positions), PLANES, goban.points), dtype=np.uint8)
    seen[:, 0 : 2 * HISTORY : 2] = boards == turn
    seen[:, 1 : 2 * HISTORY : 2] = boards == -turn
    seen[:, 2 * HISTORY] = positions.to_play[:, None] == BLACK
    liberties = positions.liberties[:, goban.place_of]
    seen[:, 2 * HISTORY + 1] = liberties == 1
    seen[:, 2 * HISTORY + 2] = liberties == 2
    seen[:, 2 * HISTORY + 3] = liberties > 2
    seen[:, 2 * HISTORY + 4] = goban.captures(positions)
    return seen.reshape(len(positions), PLANES, goban.size, goban.size)


class Network:
    """A policy-value network in the form that the search calls."""

    def __init__(self, goban: Goban, model: nn.Module, device: torch.device) -> None:
        self._goban, self._model, self._device = goban, model, device

    def __call__(self, positions: Positions, legal: Array) -> tuple[Array, Array]:
        """Priors and values, from one forward pass."""
        inputs = torch.from_numpy(planes(self._goban, positions)).to(self._device).float()
        with torch.no_grad():
            policy, value = self._model(inputs)
            # A pass is always legal, so no row is completely masked
            mask = torch.from_numpy(legal).to(self._device)
            prior = policy.float().masked_fill(~mask, -torch.inf).softmax(-1)
        return prior.cpu().numpy(), value.float().cpu().numpy()


class Territory:
    """Uniform priors for legal moves, and the lead in area as a position's value."""

    def __init__(self, goban: Goban, komi: float) -> None:
        self._goban, self._komi = goban, komi

    def __call__(self, positions: Positions, legal: Array) -> tuple[Array, Array]:
        """Uniform priors, and a value that approaches 1 for a lead of a fifth of the board."""
        lead = (self._goban.area(positions) - self._komi) * positions.to_play
        value = np.tanh(lead / (self._goban.points / 5))
        prior = legal / legal.sum(axis=1, keepdims=True)
        return prior.astype(np.float32), value.astype(np.float32)


@dataclass(frozen=True)
class Player:
    """A player: its search and its evaluation function."""

    search: Search
    evaluate: Evaluate


@dataclass(frozen=True)
class Examples:
    """Training data from games, a row for each position."""

    planes: Array
    """Bits of the network's planes, packed, (M, bytes)."""
    policy: Array
    """Share of the root's visits that each move got, (M, A)."""
    outcome: Array
    """1 if the side to play won, else -1, (M,)."""


class Choose(Protocol):
    """Chooses moves for the unfinished games; `goban.moves` resigns."""

    def __call__(self, games: Array, positions: Positions, history: Array) -> Array:
        """Moves for some games, (B,), whose earlier boards have these hashes, (B, T)."""


def play_out(goban: Goban, config: MiniGo, count: int, choose: Choose) -> Array:
    """Play `count` games to the end; returns 1 for those that black won, else -1."""
    positions = goban.start(count)
    history = [positions.hashes.copy()]
    winner = np.zeros(count)
    going = np.arange(count)
    for _ in range(config.max_moves):
        now = positions.take(going)
        moves = choose(going, now, np.stack(history, axis=1)[going])
        resigns = moves == goban.moves
        winner[going[resigns]] = -now.to_play[resigns]
        positions.put(going, goban.play(now, np.minimum(moves, goban.points)))
        history.append(positions.hashes.copy())
        going = going[~resigns & ~goban.over(positions.take(going))]
        if not len(going):
            break
    return np.where(winner == 0, np.sign(goban.area(positions) - config.komi), winner)


def self_play(goban: Goban, config: MiniGo, player: Player, seeds: Sequence[list[int]]) -> Examples:
    """Play games, one for each seed, that depend on their seeds and the player only."""
    draws = [np.random.default_rng(seed) for seed in seeds]
    # Separate, so that the way a game is played does not affect the random numbers of its search
    habits = [np.random.default_rng([*seed, HABITS]) for seed in seeds]
    # Some games never resign, to measure how often resigning would be wrong
    plays_on = np.array([draw.random() < config.disable_resign_pct for draw in draws])
    hopeless = np.array([habit.uniform(*config.resign_thresholds) for habit in habits])
    quick = replace(player.search, readouts=config.fast_play_readouts)
    kept: list[tuple[Array, Positions, Array]] = []

    def choose(games: Array, positions: Positions, history: Array) -> Array:
        visits, worth = np.zeros((len(games), goban.moves), np.float32), np.zeros(len(games))
        fast = np.array([habits[game].random() < config.fast_play_share for game in games])
        for search, rows in (
            (player.search, np.flatnonzero(~fast)),
            (quick, np.flatnonzero(fast)),
        ):
            if not len(rows):
                continue
            mine = positions.take(rows)
            forest = Forest(goban, search, mine, history[rows])
            thorough = search is player.search
            forest.grow(player.evaluate, noise(games[rows]) if thorough else None)
            visits[rows], worth[rows] = forest.visits[forest.roots], forest.worth()
            # A quick search says little about the other moves
            if thorough:
                shown = forest.pruned_visits() if config.target_pruning else visits[rows]
                kept.append((games[rows], mine, shown / shown.sum(axis=1, keepdims=True)))
        moves = _pick(
            visits, positions.moves < config.softpick_moves, [draws[game] for game in games]
        )
        gives_up = (worth < hopeless[games]) & ~plays_on[games]
        return np.where(gives_up, goban.moves, moves)

    def noise(games: Array) -> Array:
        # Gamma draws divided by their sum are Dirichlet-distributed; the sum is over legal moves
        gamma = [draws[game].standard_gamma(config.noise_alpha, goban.moves) for game in games]
        return np.stack(gamma)

    winner = play_out(goban, config, len(seeds), choose)
    return _examples(goban, config, kept, winner, draws)


HABITS = 0x4AB
"""Last part of the seed for the way a game is played: quick moves, and resignation."""


def _examples(
    goban: Goban,
    config: MiniGo,
    kept: list[tuple[Array, Positions, Array]],
    winner: Array,
    draws: list[np.random.Generator],
) -> Examples:
    """The positions that are kept according to the config's share; there may be none."""
    nothing = np.zeros(0, dtype=int)
    positions = goban.start(1).take(nothing)
    parts: list[tuple[Array, Array, Array]] = []
    kept = kept or [(nothing, positions, np.zeros((0, goban.moves), dtype=np.float32))]
    for games, positions, policy in kept:
        lucky = np.array([draws[game].random() for game in games]) < config.filter_amount
        seen = planes(goban, positions)[lucky]
        bits = np.packbits(seen.reshape(len(seen), PLANES * goban.points), axis=1)
        parts.append((bits, policy[lucky], (winner[games] * positions.to_play)[lucky]))
    bits, policy, outcome = (np.concatenate(column) for column in zip(*parts, strict=True))
    # Half precision: the window contains millions of positions
    return Examples(bits, policy.astype(np.float16), outcome.astype(np.float32))


def match(
    goban: Goban, config: MiniGo, players: tuple[Player, Player], seeds: Sequence[list[int]]
) -> int:
    """Number of games that the first player wins, which is black in every other game."""
    draws = [np.random.default_rng(seed) for seed in seeds]
    first = np.array([BLACK if seed[-1] % 2 == 0 else WHITE for seed in seeds])

    def choose(games: Array, positions: Positions, history: Array) -> Array:
        moves = np.full(len(games), goban.points)
        for player, color in zip(players, (first[games], -first[games]), strict=True):
            mine = np.flatnonzero(positions.to_play == color)
            if not len(mine):
                continue
            forest = Forest(goban, player.search, positions.take(mine), history[mine])
            forest.grow(player.evaluate)
            soft = positions.moves[mine] < config.match_softpick_moves
            visits = forest.visits[forest.roots]
            moves[mine] = _pick(visits, soft, [draws[game] for game in games[mine]])
        return moves

    return int((play_out(goban, config, len(seeds), choose) == first).sum())


def _pick(visits: Array, soft: Array, draws: list[np.random.Generator]) -> Array:
    """The most visited move, or one drawn by visits, (G,)."""
    shares = np.cumsum(visits, axis=1) / visits.sum(axis=1, keepdims=True)
    chance = np.array([draw.random() for draw in draws])
    drawn = (shares <= chance[:, None]).sum(axis=1).clip(max=visits.shape[1] - 1)
    picked: Array = np.where(soft, drawn, visits.argmax(axis=1))
    return picked
