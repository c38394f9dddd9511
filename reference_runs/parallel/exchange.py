"""Differentiable all-to-all, the only exchange of tensors between ranks within a model.

Gradients are those of the sum of all ranks' losses: a gradient returns to the rank that sent the
value, and is summed there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.distributed._functional_collectives import all_to_all_single_autograd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor
    from torch.distributed import ProcessGroup


def exchanged(
    x: Tensor, going: Sequence[int], coming: Sequence[int], group: ProcessGroup
) -> Tensor:
    """Send rows of `x` to each rank; returns the rows from each rank, concatenated."""
    y: Tensor = all_to_all_single_autograd(x.contiguous(), [*coming], [*going], group)
    return y


def gathered(x: Tensor, group: ProcessGroup) -> Tensor:
    """The tensors of all ranks of the group, which have one shape, along a new first axis."""
    ranks = group.size()
    copies = x.expand(ranks, *x.shape).reshape(ranks, -1)
    ones = [1] * ranks
    return exchanged(copies, ones, ones, group).view(ranks, *x.shape)


def summed(parts: Tensor, group: ProcessGroup) -> Tensor:
    """The sum over ranks of the parts for this rank, along the first axis of `parts`."""
    ones = [1] * group.size()
    return exchanged(parts.flatten(1), ones, ones, group).view(parts.shape).sum(0)
