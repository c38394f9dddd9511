"""The published checkpoint's names of the model's tensors, which logs of some rounds use."""

from __future__ import annotations

DENSE = {"weight": "kernel", "bias": "bias"}
NORM = {"weight": "gamma", "bias": "beta"}
TABLE = {"weight": ""}

OF_ENDS = (
    ("embeddings.words", "bert/embeddings/word_embeddings", TABLE),
    ("embeddings.positions", "bert/embeddings/position_embeddings", TABLE),
    ("embeddings.segments", "bert/embeddings/token_type_embeddings", TABLE),
    ("embeddings.norm", "bert/embeddings/LayerNorm", NORM),
    ("pooler", "bert/pooler/dense", DENSE),
    ("transform", "cls/predictions/transform/dense", DENSE),
    ("transform_norm", "cls/predictions/transform/LayerNorm", NORM),
    ("relation", "cls/seq_relationship", {"weight": "output_weights", "bias": "output_bias"}),
)
OF_BLOCK = (
    ("query", "attention/self/query", DENSE),
    ("key", "attention/self/key", DENSE),
    ("value", "attention/self/value", DENSE),
    ("out", "attention/output/dense", DENSE),
    ("attention_norm", "attention/output/LayerNorm", NORM),
    ("up", "intermediate/dense", DENSE),
    ("down", "output/dense", DENSE),
    ("norm", "output/LayerNorm", NORM),
)
"""Our layer, the published layer, and the tensor names in each."""


def published_names(layers: int) -> dict[str, str]:
    """The published name of each tensor of the model."""
    blocks = (
        (f"blocks.{layer}.{ours}", f"bert/encoder/layer_{layer}/{published}", tensors)
        for layer in range(layers)
        for ours, published, tensors in OF_BLOCK
    )
    named = {
        f"{ours}.{own}": f"{published}/{name}".rstrip("/")
        for ours, published, tensors in (*OF_ENDS, *blocks)
        for own, name in tensors.items()
    }
    return {**named, "word_bias": "cls/predictions/output_bias"}


def is_transposed(published: str) -> bool:
    """Whether a published matrix has a row for each input; ours have a row for each output."""
    return published.endswith("/kernel")
