"""The largest possible batch, for memory plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from podium.reference_runs.benchmarks.rgat.batch import Block, Sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.benchmarks.rgat.config import Relation


def largest_neighbourhood(
    relations: Sequence[Relation], fan_outs: Sequence[int], seeds: int, features: int
) -> Sampled:
    """A batch as if each node had enough neighbors of every relation, and none were shared.

    Its values are zeros: only its shapes matter.
    """
    kinds = sorted({kind for source, _, target in relations for kind in (source, target)})
    nodes = dict.fromkeys(kinds, 0) | {"paper": seeds}
    blocks: list[Block] = []
    for most in fan_outs:
        drawn = {relation: (nodes[relation[2]], most) for relation in relations}
        blocks.append(
            Block(
                targets={kind: _zeros(count) for kind, count in nodes.items()},
                sources={relation: _zeros(*shape) for relation, shape in drawn.items()},
                there={relation: _zeros(*shape) == 0 for relation, shape in drawn.items()},
            )
        )
        for (source, _, _), (targets, fan_out) in drawn.items():
            nodes[source] += targets * fan_out
    inputs = {kind: torch.zeros(count, features) for kind, count in nodes.items()}
    return Sampled(inputs, tuple(reversed(blocks)), labels=_zeros(seeds))


def _zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int64)
