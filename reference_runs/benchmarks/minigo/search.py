"""Monte Carlo tree search over many games at once, guided by priors and values (PUCT).

After AlphaGo Zero (Silver et al., Nature 550, 2017) with MiniGo's virtual losses. Dimensions: G
games, K nodes of each game's tree (0 is its root), A moves including the pass, T boards of history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.minigo.board import Goban, Positions
    from podium.reference_runs.benchmarks.minigo.grid import Array


class Evaluate(Protocol):
    """Evaluates positions: the probability of each legal move, and the side to play's value."""

    def __call__(self, positions: Positions, legal: Array) -> tuple[Array, Array]:
        """Priors (B, A), which sum to 1 over the legal moves, and values (B,) from -1 to 1."""


@dataclass(frozen=True)
class Search:
    """Search parameters; one network call evaluates `virtual_losses` leaves of every game."""

    readouts: int
    virtual_losses: int = 1
    # AlphaZero's constants (Silver et al., Science 362, 2018)
    c_puct_init: float = 1.25
    c_puct_base: float = 19_652.0
    value_init_penalty: float = 0.2
    komi: float = 7.5
    noise_mix: float = 0.25
    """Weight of the noise in a root's priors, if there is any (AlphaGo Zero)."""


class Moves(NamedTuple):
    """One step down the trees: games, nodes and moves, (N,) each."""

    games: Array
    nodes: Array
    moves: Array


class Forest:
    """One tree for each of G games."""

    def __init__(self, goban: Goban, search: Search, roots: Positions, history: Array) -> None:
        self._goban, self._search, self._history = goban, search, history
        self.games, self.nodes = len(roots), search.readouts + 1
        shape = (self.games * self.nodes, goban.moves)
        self.prior = np.zeros(shape, dtype=np.float32)
        self.visits = np.zeros(shape, dtype=np.float32)
        self.total = np.zeros(shape, dtype=np.float32)
        self.child = np.zeros(shape, dtype=np.int32)
        self.value = np.zeros(len(self.prior), dtype=np.float32)
        self.ready = np.zeros(len(self.prior), dtype=bool)
        """Whether a node has been evaluated."""
        self.final = np.zeros(len(self.prior), dtype=bool)
        self.at = roots.take(np.repeat(np.arange(self.games), self.nodes))
        self.roots = np.arange(self.games) * self.nodes
        self._size = 1

    def grow(self, evaluate: Evaluate, noise: Array | None = None) -> None:
        """Search from the roots; `noise` (G, A) replaces a share of the roots' priors."""
        self._learn(self.roots, [[]], evaluate)
        if noise is not None:
            # Illegal moves have a prior of 0, which noise must not raise
            noise = noise * (self.prior[self.roots] > 0)
            share = noise / np.maximum(noise.sum(axis=1, keepdims=True), 1e-9)
            mix = self._search.noise_mix
            self.prior[self.roots] = (1 - mix) * self.prior[self.roots] + mix * share
        while self._size < self.nodes:
            width = min(self._search.virtual_losses, self.nodes - self._size)
            descents = [self._descend() for _ in range(width)]
            leaves = np.concatenate([leaf for leaf, _ in descents])
            self._learn(leaves, [path for _, path in descents], evaluate)

    def worth(self) -> Array:
        """The value for the side to play in each game, at its most visited move, (G,)."""
        best = self.visits[self.roots].argmax(axis=1)
        worth: Array = self.total[self.roots, best] / np.maximum(self.visits[self.roots, best], 1)
        return worth

    def _descend(self) -> tuple[Array, list[Moves]]:
        """Follow the best moves down to one leaf of each game; add it as a node.

        Returns the leaves (G,) and the steps to them. The path counts as lost until the leaf's
        value is known, so that the next descent takes another path.
        """
        # The trees grow in step: a descent adds the same node number in every game
        new = self._size
        self._size += 1
        node, path = self.roots.copy(), []
        going = np.arange(self.games)
        while len(going):
            here = node[going]
            going = going[self.ready[here] & ~self.final[here]]
            here = node[going]
            if not len(going):
                break
            move = self._best(here)
            path.append(Moves(going, here, move))
            self.visits[here, move] += 1
            self.total[here, move] -= 1
            # The root has no parent, so 0 can represent "none"
            fresh = self.child[here, move] == 0
            if fresh.any():
                self._add(Moves(going[fresh], here[fresh], move[fresh]), new)
            node[going] = going * self.nodes + self.child[here, move]
        return node, path

    def _best(self, here: Array) -> Array:
        """The move with the highest score at each node."""
        prior = self.prior[here]
        worth, promise = self._worth_and_promise(here)
        score = worth + promise / (1 + self.visits[here])
        best: Array = np.where(prior > 0, score, -np.inf).argmax(axis=1)
        return best

    def _worth_and_promise(self, here: Array) -> tuple[Array, Array]:
        """Each move's mean value at some nodes, and its initial exploration bonus."""
        search, visits = self._search, self.visits[here]
        all_visits = visits.sum(axis=1, keepdims=True)
        explore = search.c_puct_init + np.log1p((1 + all_visits) / search.c_puct_base)
        unseen = self.value[here, None] - search.value_init_penalty
        worth = np.where(visits > 0, self.total[here] / np.maximum(visits, 1), unseen)
        return worth, explore * np.sqrt(np.maximum(all_visits, 1)) * self.prior[here]

    def pruned_visits(self) -> Array:
        """The roots' visits, (G, A), without the excess visits of moves that are not the best.

        A move other than the most visited keeps the fewest visits at which its score does not
        exceed that move's score, and none if that is a single visit.
        """
        visits = self.visits[self.roots]
        worth, promise = self._worth_and_promise(self.roots)
        games = np.arange(self.games)
        best = visits.argmax(axis=1)
        score = (worth + promise / (1 + visits))[games, best]
        lead = np.maximum(score[:, None] - worth, 1e-9)
        needed = np.minimum(visits, np.ceil(np.maximum(promise / lead - 1, 0)))
        pruned = np.where(needed > 1, needed, 0)
        pruned[games, best] = visits[games, best]
        return pruned

    def _add(self, played: Moves, new: int) -> None:
        """Link moves to the node with this number, in each of their games."""
        self.child[played.nodes, played.moves] = new
        made = self._goban.play(self.at.take(played.nodes), played.moves)
        self.at.put(played.games * self.nodes + new, made)

    def _learn(self, leaves: Array, paths: list[list[Moves]], evaluate: Evaluate) -> None:
        """Evaluate leaves, (paths * G,), and add the values to the moves on their paths."""
        positions = self.at.take(leaves)
        history = self._histories(paths)
        legal = self._goban.legal(positions, history)
        prior, value = evaluate(positions, legal)
        over = self._goban.over(positions)
        if over.any():
            score = self._goban.area(positions.take(np.flatnonzero(over))) - self._search.komi
            value[over] = np.sign(score) * positions.to_play[over]
        # Every legal move keeps a small prior, so that zero means illegal.
        self.prior[leaves] = np.where(legal, np.maximum(prior, 1e-6), 0)
        self.value[leaves], self.ready[leaves], self.final[leaves] = value, True, over
        for number, path in enumerate(paths):
            mine = value[number * self.games : (number + 1) * self.games]
            turn = positions.to_play[number * self.games : (number + 1) * self.games]
            for games, nodes, moves in path:
                same = np.where(self.at.to_play[nodes] == turn[games], 1, -1)
                # The 1 cancels the virtual loss of the descent
                self.total[nodes, moves] += 1 + same * mine[games]

    def _histories(self, paths: list[list[Moves]]) -> Array:
        """Hashes of the boards before each leaf: those of its game, and those of its path."""
        depth = max(len(path) for path in paths)
        on_path = np.full((len(paths), self.games, depth + 1), np.nan)
        on_path[:, :, depth] = self.at.hashes[self.roots]
        for number, path in enumerate(paths):
            for step, (games, nodes, moves) in enumerate(path):
                reached = games * self.nodes + self.child[nodes, moves]
                on_path[number, games, step] = self.at.hashes[reached]
        before = np.concatenate([self._history] * len(paths))
        return np.concatenate((before, on_path.reshape(len(before), -1)), axis=1)
