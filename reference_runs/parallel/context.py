"""Sequences divided among ranks: each has two pieces, whose words attend to all earlier ones.

Of 2N pieces a rank has one from the front and one from the back, since later words attend to more;
keys and values are gathered ("The Llama 3 Herd of Models", 2024, section 3.3.2). Shape letters:
B batch, L length, H query heads, K key-value heads, E width of a head.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torch.nn.attention.bias import causal_lower_right

from podium.reference_runs.parallel.exchange import gathered

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.distributed.device_mesh import DeviceMesh


def pieces(rank: int, ranks: int) -> tuple[int, int]:
    """Which of the sequence's pieces a rank has."""
    return rank, 2 * ranks - 1 - rank


def own(whole_BL: Tensor, group: ProcessGroup) -> Tensor:
    """The part of this rank in sequences, of a length that twice the number of ranks divides."""
    cut = whole_BL.chunk(2 * group.size(), 1)
    return torch.cat([cut[each] for each in pieces(group.rank(), group.size())], 1)


def positions(length: int, device: torch.device, group: ProcessGroup) -> Tensor:
    """Where the words of this rank stand, of which there are so many."""
    everyone = torch.arange(length * group.size(), device=device)
    return own(everyone[None], group)[0]


def attend(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor, group: ProcessGroup) -> Tensor:
    """Causal attention of this rank's words to all earlier ones, (B, H, L, E)."""
    ranks = group.size()
    everyone = gathered(torch.stack((k_BKLE, v_BKLE)), group)
    halves = everyone.chunk(2, -2)
    place = {each: (rank, half) for rank in range(ranks) for half, each in _halves(rank, ranks)}
    ordered = [halves[place[each][1]][place[each][0]] for each in range(2 * ranks)]
    found = []
    for query, each in zip(q_BHLE.chunk(2, -2), pieces(group.rank(), ranks), strict=True):
        keys, values = torch.cat(ordered[: each + 1], -2)
        # The last words of these are those that ask
        mask = causal_lower_right(query.shape[-2], keys.shape[-2])
        found.append(
            F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, enable_gqa=True)
        )
    return torch.cat(found, -2)


def _halves(rank: int, ranks: int) -> Any:
    return enumerate(pieces(rank, ranks))


def divide(model: Any, mesh: DeviceMesh) -> None:
    """Have a decoder that is called with whole sequences work on this rank's part of them.

    The loss that it gives is that of the whole. Ranks of the mesh's `cp` have the same sequences.
    """
    group = mesh["cp"].get_group()
    model.positions = partial(positions, group=group)
    for module in model.modules():
        if hasattr(module, "attend"):
            module.attend = partial(attend, group=group)

    def enter(_: nn.Module, inputs: Any, named: Any) -> Any:
        return [_part(each, group) for each in inputs], {
            name: _part(each, group) for name, each in named.items()
        }

    model.register_forward_pre_hook(enter, with_kwargs=True)
    if model.ends:
        model.register_forward_hook(lambda _, _inputs, total: gathered(total, group).sum(0))


def _part(whole: Tensor, group: ProcessGroup) -> Tensor:
    """Of token ids and targets the part of this rank; between stages of a pipeline it is that."""
    return whole if whole.is_floating_point() else own(whole, group)
