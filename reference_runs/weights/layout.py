"""The tensor names and layout of published decoders, in the style of Hugging Face.

A layout is a table: a tensor of our model, `{n}` for the layer's number, and the published tensors
that it is made of. The rows of several tensors are concatenated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

IGNORED = re.compile(
    r"\.rotary_emb\.inv_freq$|^model\.layers\.\d+\.(embed_tokens|shared_head\.head)\.weight$"
)
"""Tensors in some released files that the configuration determines, or that are copies of others
(DeepSeek-V3's second embedding and output)."""


@dataclass(frozen=True)
class Source:
    """The published source of one tensor of a model."""

    published: tuple[str, ...]
    interleaved: bool = False
    """Whether two projections alternate in the last dimension; ours are concatenated."""
    transposed: bool = False
    """Whether the published matrix has a row for each input; ours has a row for each output."""
    experts: int = 0
    """If not 0, the number of experts in the published matrices, which follow one another; ours are
    stacked, each of them transposed."""

    def at(self, layer: str) -> Source:
        """The source of one layer's tensor."""
        return replace(self, published=tuple(x.replace("{n}", layer) for x in self.published))

    def shape(self, parts: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape of a tensor that consists of parts with these shapes."""
        first, *others = parts
        rows = first[0] + sum(other[0] for other in others)
        if self.experts:
            return (self.experts, *first[1:], rows // self.experts)
        whole = (rows, *first[1:])
        return whole[::-1] if self.transposed else whole

    def joined(self, parts: list[Tensor]) -> Tensor:
        """The tensor from its published parts."""
        import torch

        whole = parts[0] if len(parts) == 1 else torch.cat(parts)
        if self.experts:
            stacked = whole.view(self.experts, -1, whole.shape[-1])
            return stacked.mT.contiguous()
        if self.interleaved:
            whole = torch.cat((whole[..., ::2], whole[..., 1::2]), dim=-1)
        return whole.T if self.transposed else whole


def _layers(**names: str) -> dict[str, Source]:
    """Entries for tensors that each layer has, by our name with `__` for a dot."""
    return {
        f"blocks.{{n}}.{ours.replace('__', '.')}": Source(
            tuple(f"model.layers.{{n}}.{name}" for name in published.split())
        )
        for ours, published in names.items()
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
"""Llama 2 in the LoRA benchmark's layout: one projection for query, key and value."""

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
"""GPT-OSS with unquantized expert weights: the release packs them in four bits."""

_GPT2_PARTS = {
    "attention_norm": "ln_1",
    "qkv": "attn.c_attn",
    "out": "attn.c_proj",
    "ffn_norm": "ln_2",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}

GPT2 = {
    "embedding.weight": Source(("transformer.wte.weight",)),
    "position_embedding.weight": Source(("transformer.wpe.weight",)),
    "norm.weight": Source(("transformer.ln_f.weight",)),
    "norm.bias": Source(("transformer.ln_f.bias",)),
    **{
        f"blocks.{{n}}.{ours}.{kind}": Source(
            (f"transformer.h.{{n}}.{published}.{kind}",),
            transposed=kind == "weight" and not published.startswith("ln"),
        )
        for ours, published in _GPT2_PARTS.items()
        for kind in ("weight", "bias")
    },
}
"""GPT-2 with its output, which is the embedding again; GPT-3's decoder has the same parts."""

Layout = dict[str, Source]

_LATENT = {
    "attention_norm.weight": "input_layernorm.weight",
    "attention.query_latent.weight": "self_attn.q_a_proj.weight",
    "attention.query_norm.weight": "self_attn.q_a_layernorm.weight",
    "attention.query.weight": "self_attn.q_b_proj.weight",
    "attention.kv_latent.weight": "self_attn.kv_a_proj_with_mqa.weight",
    "attention.kv_norm.weight": "self_attn.kv_a_layernorm.weight",
    "attention.kv.weight": "self_attn.kv_b_proj.weight",
    "attention.out.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
}
"""The tensors of a DeepSeek-V3 layer without its feed-forward part, ours and the published ones."""


def deepseek(layers: int, dense: int, experts: int) -> Layout:
    """The layout of DeepSeek-V3: dense first layers, and multi-token prediction.

    Values must have a torch format without separate scales: bfloat16, not the release's 8-bit
    blocks.
    """
    ahead = f"model.layers.{layers}"
    rows = {
        "ahead.token_norm.weight": "enorm.weight",
        "ahead.stream_norm.weight": "hnorm.weight",
        "ahead.joined.weight": "eh_proj.weight",
        "ahead.norm.weight": "shared_head.norm.weight",
    }
    layout = _ENDS | {ours: Source((f"{ahead}.{name}",)) for ours, name in rows.items()}
    for layer in range(dense):
        layout |= _deepseek_layer(f"blocks.{layer}", f"model.layers.{layer}", "mlp")
    for ours, published in (("blocks.{n}", "model.layers.{n}"), ("ahead.block", ahead)):
        layout |= _deepseek_layer(ours, published, "mlp.shared_experts")
        prefixes = [f"{published}.mlp.experts.{expert}" for expert in range(experts)]
        both = tuple(
            f"{prefix}.{part}_proj.weight" for prefix in prefixes for part in ("gate", "up")
        )
        mixture, gate = f"{ours}.mixture", f"{published}.mlp.gate"
        layout |= {
            f"{mixture}.router.weight": Source((f"{gate}.weight",)),
            f"{mixture}.correction": Source((f"{gate}.e_score_correction_bias",)),
            f"{mixture}.experts.gate_up": Source(both, experts=experts),
            f"{mixture}.experts.down": Source(
                tuple(f"{prefix}.down_proj.weight" for prefix in prefixes), experts=experts
            ),
        }
    return layout


def _deepseek_layer(ours: str, published: str, ffn: str) -> Layout:
    parts = {f"ffn.{part}.weight": f"{ffn}.{part}_proj.weight" for part in ("gate", "up", "down")}
    rows = (_LATENT | parts).items()
    return {f"{ours}.{mine}": Source((f"{published}.{name}",)) for mine, name in rows}


_LAYER = re.compile(r"(?<=^blocks\.)\d+(?=\.)")


def source(layout: Layout, name: str) -> Source | None:
    """The source of a model's tensor; None if the layout has no such tensor."""
    if name in layout:  # also a layer that differs from the others
        return layout[name]
    match = _LAYER.search(name)
    row = layout.get(_LAYER.sub("{n}", name))
    return row and row.at(match[0] if match else "")
