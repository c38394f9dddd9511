"""How published decoders name and arrange their tensors, in the layout of Hugging Face.

A layout is a table: a tensor of ours, `{n}` for the layer's number, and the published ones that it
is made of. Where that is several, their rows follow one another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

IGNORED = re.compile(r"\.rotary_emb\.inv_freq$")
"""Tensors that follow from the configuration, which some released files hold."""


@dataclass(frozen=True)
class Source:
    """Where one tensor of a model comes from."""

    published: tuple[str, ...]
    interleaved: bool = False
    """Whether two projections alternate in the last dimension: ours has one after the other."""

    def at(self, layer: str) -> Source:
        """The source of one layer's tensor."""
        names = tuple(name.replace("{n}", layer) for name in self.published)
        return Source(names, self.interleaved)

    def shape(self, parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape of the tensor that parts of these shapes make."""
        first, *others = parts
        return (first[0] + sum(other[0] for other in others), *first[1:])

    def joined(self, parts: list[Tensor]) -> Tensor:
        """The tensor that the published ones make."""
        import torch

        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        if self.interleaved:
            whole = torch.cat((whole[..., ::2], whole[..., 1::2]), dim=-1)
        return whole


def _layers(**names: str) -> dict[str, Source]:
    """Rows of tensors that each layer has, by our name with `__` for a dot."""
    return {
        f"blocks.{{n}}.{ours.replace('__', '.')}": Source(
            tuple(f"model.layers.{{n}}.{name}" for name in theirs.split())
        )
        for ours, theirs in names.items()
    }


_ENDS = {
    "embedding.weight": Source(("model.embed_tokens.weight",)),
    "norm.weight": Source(("model.norm.weight",)),
    "output.weight": Source(("lm_head.weight",)),
}
_PROJECTIONS = _layers(
    attention__query__weight="self_attn.q_proj.weight",
    attention__key__weight="self_attn.k_proj.weight",
    attention__value__weight="self_attn.v_proj.weight",
    attention__out__weight="self_attn.o_proj.weight",
)
_FEED_FORWARD = _layers(
    attention_norm__weight="input_layernorm.weight",
    ffn_norm__weight="post_attention_layernorm.weight",
    ffn__gate__weight="mlp.gate_proj.weight",
    ffn__up__weight="mlp.up_proj.weight",
    ffn__down__weight="mlp.down_proj.weight",
)

LLAMA = {**_ENDS, **_PROJECTIONS, **_FEED_FORWARD}
"""Llama 3.1 of every size, and Llama 2 with three projections."""

FUSED_LLAMA = {
    **_ENDS,
    **_FEED_FORWARD,
    **_layers(
        attention__qkv__weight="self_attn.q_proj.weight self_attn.k_proj.weight"
        " self_attn.v_proj.weight",
        attention__out__weight="self_attn.o_proj.weight",
    ),
}
"""Llama 2 as the LoRA benchmark has it: one projection for query, key and value."""

GPT_OSS = {
    **_ENDS,
    **_PROJECTIONS,
    **_layers(
        attention_norm__weight="input_layernorm.weight",
        mixture_norm__weight="post_attention_layernorm.weight",
        mixture__router__weight="mlp.router.weight",
        mixture__experts__down="mlp.experts.down_proj",
    ),
    "blocks.{n}.mixture.experts.gate_up": Source(
        ("model.layers.{n}.mlp.experts.gate_up_proj",), True
    ),
}
"""GPT-OSS with the experts' weights as numbers: the release packs them in four bits."""

Layout = dict[str, Source]

_LAYER = re.compile(r"(?<=^blocks\.)\d+(?=\.)")


def source(layout: Layout, name: str) -> Source | None:
    """Where a model's tensor comes from; None where the layout has no such tensor."""
    found = _LAYER.search(name)
    row = layout.get(_LAYER.sub("{n}", name))
    return row and row.at(found[0] if found else "")
