"""Context parallelism: each rank has two chunks of a sequence, which attend to earlier tokens.

Of 2N chunks a rank has one from the front and one from the back, since later tokens attend to more;
keys and values are gathered ("The Llama 3 Herd of Models", 2024, section 3.3.2). Dimensions: B
batch, L length, H query heads, K key-value heads, E head width.
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
    """The indices of a rank's chunks of the sequence."""
    return rank, 2 * ranks - 1 - rank


def own(whole_BL: Tensor, group: ProcessGroup) -> Tensor:
    """The rank's part of sequences, whose length twice the number of ranks must divide."""
    cut = whole_BL.chunk(2 * group.size(), 1)
    return torch.cat([cut[piece] for piece in pieces(group.rank(), group.size())], 1)


def positions(length: int, device: torch.device, group: ProcessGroup) -> Tensor:
    """The positions of this rank's tokens, `length` in number."""
    everyone = torch.arange(length * group.size(), device=device)
    return own(everyone[None], group)[0]


def attend(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor, group: ProcessGroup) -> Tensor:
    """Causal attention of this rank's tokens to all earlier ones, (B, H, L, E)."""
    ranks = group.size()
    everyone = gathered(torch.stack((k_BKLE, v_BKLE)), group)
    halves = everyone.chunk(2, -2)
    place = {piece: (rank, half) for rank in range(ranks) for half, piece in _halves(rank, ranks)}
    ordered = [halves[place[piece][1]][place[piece][0]] for piece in range(2 * ranks)]
    outputs = []
    for query, piece in zip(q_BHLE.chunk(2, -2), pieces(group.rank(), ranks), strict=True):
        keys, values = torch.cat(ordered[: piece + 1], -2)
        # The last of these tokens are the queries
        mask = causal_lower_right(query.shape[-2], keys.shape[-2])
        outputs.append(
            F.scaled_dot_product_attention(query, keys, values, attn_mask=mask, enable_gqa=True)
        )
    return torch.cat(outputs, -2)


def _halves(rank: int, ranks: int) -> Any:
    return enumerate(pieces(rank, ranks))


def divide(model: Any, mesh: DeviceMesh) -> None:
    """Make a decoder that is called with whole sequences process this rank's part of them.

    Its loss is that of the whole sequence. Ranks along the mesh's `cp` have the same sequences.
    """
    group = mesh["cp"].get_group()
    model.positions = partial(positions, group=group)
    for module in model.modules():
        if hasattr(module, "attend"):
            module.attend = partial(attend, group=group)

    def enter(_: nn.Module, inputs: Any, named: Any) -> Any:
        return [_part(value, group) for value in inputs], {
            name: _part(value, group) for name, value in named.items()
        }

    model.register_forward_pre_hook(enter, with_kwargs=True)
    if model.ends:
        model.register_forward_hook(lambda _, _inputs, total: gathered(total, group).sum(0))


def _part(whole: Tensor, group: ProcessGroup) -> Tensor:
    """The rank's part of token ids and targets; between pipeline stages it is already divided."""
    return whole if whole.is_floating_point() else own(whole, group)
