"""The neighbor sampler: from the seeds outwards, a number of neighbors per relation and node.

The draw for a node depends on seed, epoch, layer, relation and the node only. So it does not matter
which rank a seed is on, or which other seeds are in its batch.

Dimensions: T targets of a layer, K drawn neighbors of each (its fan-out).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.rgat.batch import Block
from podium.reference_runs.benchmarks.rgat.hashing import uniform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.rgat.config import Relation

    Ids = NDArray[np.int64]
    Drawn = tuple[Ids, NDArray[np.bool_]]
    """Sources of each target, and the mask of valid entries; (T, K) each."""


@dataclass(frozen=True)
class Csr:
    """Edges of a relation, sorted by target.

    The sources of target t are at starts[t] up to starts[t + 1]: with starts 0, 2, 2, 3 and sources
    8, 5, 6, target 0 has the sources 8 and 5, target 1 none, target 2 has 6.
    """

    starts: Ids
    sources: Ids

    @classmethod
    def of(cls, source: Ids, target: Ids, targets: int) -> Csr:
        """From one pair of nodes per edge."""
        counts = np.bincount(target, minlength=targets)
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(starts, source[np.argsort(target, kind="stable")])

    def draw(self, target_T: Ids, most: int, key: int) -> Drawn:
        """Up to `most` different sources of each target; invalid entries are 0."""
        start_T = self.starts[target_T]
        degree_T = self.starts[target_T + 1] - start_T
        choice_TK = _choose(target_T, degree_T, most, key)
        there_TK = choice_TK < degree_T[:, None]
        edge_TK = start_T[:, None] + choice_TK
        source_TK = np.zeros(there_TK.shape, self.sources.dtype)
        source_TK[there_TK] = self.sources[edge_TK[there_TK]]
        return source_TK, there_TK


def _choose(node_T: Ids, degree_T: Ids, most: int, key: int) -> Ids:
    """Indices of the drawn neighbors of each node: different numbers below its degree, (T, K).

    A node with at most `most` neighbors draws all of them in order; its further numbers are too
    large. For the others, Floyd's algorithm (Bentley and Floyd, Communications of the ACM 30,
    1987): each iteration draws from one more candidate, the last one from all neighbors. If a
    candidate was already chosen, the iteration's new candidate is used instead, which cannot have
    been chosen.
    """
    chosen_TK = np.empty((len(node_T), most), dtype=np.int64)
    for turn in range(most):
        newest_T = degree_T - most + turn
        candidates_T = newest_T + 1
        drawn_T = (uniform(node_T * most + turn, key) * candidates_T).astype(np.int64)
        before_T = (chosen_TK[:, :turn] == drawn_T[:, None]).any(axis=1)
        chosen_TK[:, turn] = np.where(before_T, newest_T, drawn_T)
    takes_all_T = degree_T <= most
    return np.where(takes_all_T[:, None], np.arange(most), chosen_TK)


@dataclass(frozen=True)
class Sampler:
    """Draws the neighborhoods of seeds in a graph."""

    edges: Mapping[Relation, Csr]
    kinds: tuple[str, ...]
    fan_outs: Sequence[int]
    """Fan-out of each layer, from the seeds outwards."""

    def around(self, seeds: Ids, key: Sequence[int]) -> tuple[dict[str, Ids], tuple[Block, ...]]:
        """Input nodes of each kind and blocks from the input to the seeds, which are papers."""
        nodes = {kind: np.empty(0, np.int64) for kind in self.kinds} | {"paper": seeds}
        blocks: list[Block] = []
        for layer, most in enumerate(self.fan_outs):
            nodes, block = self._layer(nodes, most, (*key, layer))
            blocks.append(block)
        return nodes, tuple(reversed(blocks))

    def _layer(
        self, targets: Mapping[str, Ids], most: int, key: Sequence[int]
    ) -> tuple[dict[str, Ids], Block]:
        """Input nodes of each kind, the targets first, and the edges from them to the targets."""
        drawn = self._draw(targets, most, key)
        nodes = {kind: _with_sources(ids, kind, drawn) for kind, ids in targets.items()}
        order = {kind: np.argsort(ids) for kind, ids in nodes.items()}
        rows = {
            (kind, name, target): _rows(nodes[kind], order[kind], sources, there)
            for (kind, name, target), (sources, there) in drawn.items()
        }
        block = Block(
            targets={kind: torch.from_numpy(ids) for kind, ids in targets.items()},
            sources={relation: torch.from_numpy(row_TK) for relation, row_TK in rows.items()},
            there={relation: torch.from_numpy(there) for relation, (_, there) in drawn.items()},
        )
        return nodes, block

    def _draw(
        self, targets: Mapping[str, Ids], most: int, key: Sequence[int]
    ) -> dict[Relation, Drawn]:
        # A separate key for each relation: the same node draws other neighbors in each
        keys = np.random.SeedSequence(key).generate_state(len(self.edges), np.uint64)
        return {
            relation: csr.draw(targets[relation[2]], most, int(own))
            for (relation, csr), own in zip(self.edges.items(), keys, strict=True)
        }


def _with_sources(targets: Ids, kind: str, drawn: Mapping[Relation, Drawn]) -> Ids:
    """A kind's targets, followed by other drawn nodes of this kind, without duplicates."""
    nodes = [sources[there] for relation, (sources, there) in drawn.items() if relation[0] == kind]
    new = np.setdiff1d(np.concatenate(nodes), targets) if nodes else targets[:0]
    return np.concatenate([targets, new])


def _rows(nodes: Ids, order: Ids, source_TK: Ids, there_TK: NDArray[np.bool_]) -> Ids:
    """The row of each source among the nodes, which `order` sorts; 0 for invalid entries."""
    row_TK = np.zeros(source_TK.shape, dtype=np.int64)
    row_TK[there_TK] = order[np.searchsorted(nodes, source_TK[there_TK], sorter=order)]
    return row_TK
