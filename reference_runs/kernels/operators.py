"""The kinds of torch's operators, and the FLOP and dimensions of products."""

from __future__ import annotations

import math
from typing import Any

from podium.reference_runs.kernels.problems import Kind

Sides = dict[str, int]

GROUPED = "_grouped_mm"
PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", GROUPED)
CONVOLUTIONS = ("convolution", "convolution_backward")

_PARTS: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    ("attention", ("attention",)),
    ("embedding", ("embedding",)),
    ("norm", ("batch_norm", "layer_norm", "layernorm", "group_norm", "rms_norm", "rmsnorm")),
    ("recurrent", ("lstm", "gru_cell", "rnn")),
    ("all_reduce", ("allreduce", "all_reduce")),
)
"""Parts of an operator's name that identify its kind."""


def kind_of(operator: str) -> Kind:
    """The kind of an operator, by its name (aten::mm); `other` by default."""
    name = operator.partition("::")[2]
    if name in PRODUCTS:
        return "gemm"
    if name in CONVOLUTIONS:
        return "convolution"
    for kind, parts in _PARTS:
        if any(part in name for part in parts):
            return kind
    return "other"


def described(operator: str, args: Any, out: Any) -> tuple[float, Sides]:
    """FLOP and dimensions of a product, convolution or attention; 0 and none for other operators.

    An elementwise operator counts no FLOP, as in torch's own counter.
    """
    name = operator.partition("::")[2]
    if name == GROUPED:
        return _grouped(args)
    if name in PRODUCTS:
        return _product(name, args)
    if name in CONVOLUTIONS:
        return _forward(args, out) if name == "convolution" else _backward(args)
    if "scaled_dot_product" in name and len(args) >= 3:
        return _attention(args, backward=name.endswith("backward"))
    return 0.0, {}


def _product(name: str, args: Any) -> tuple[float, Sides]:
    # The first argument of addmm and baddbmm is added to the product
    a, b = args[1:3] if name in ("addmm", "baddbmm") else args[:2]
    batch = a.shape[0] if len(a.shape) == 3 else 1
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    sides = {"m": m, "n": n, "k": k, "a_t": _transposed(a), "b_t": _transposed(b)}
    if len(a.shape) == 3:
        sides = {"batch": batch, **sides}
    return 2.0 * batch * m * n * k, sides


def _grouped(args: Any) -> tuple[float, Sides]:
    """Grouped rows times a matrix per group; or, for gradients of these matrices, group by group.

    The dimensions are those of all groups together, regardless of their sizes.
    """
    a, b, ends = args[:3]
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    return 2.0 * m * k * n, {"groups": ends.shape[0], "m": m, "n": n, "k": k}


def _transposed(matrix: Any) -> int:
    """Whether a matrix is stored in column-major order."""
    rows, columns = matrix.stride()[-2:]
    return int(rows == 1 and columns >= matrix.shape[-2] and matrix.shape[-1] > 1)


def _forward(args: Any, out: Any) -> tuple[float, Sides]:
    images, filters, transposed = args[0], args[1], args[6]
    flop = _of_window(images if transposed else out, filters)
    return flop, _window(images, filters, args[3], args[4])


def _backward(args: Any) -> tuple[float, Sides]:
    gradient, images, filters, transposed, mask = args[0], args[1], args[2], args[7], args[10]
    once = _of_window(images if transposed else gradient, filters)
    sides = _window(images, filters, args[4], args[5])
    # Each requested gradient, except the bias's, costs as much as the forward pass
    wanted = {"backward_inputs": int(mask[0]), "backward_weights": int(mask[1])}
    return once * sum(wanted.values()), {**sides, **wanted}


def _of_window(places: Any, filters: Any) -> float:
    """Each output element is a sum of one product per element of the filter."""
    flop: float = 2.0 * math.prod(places.shape) * math.prod(filters.shape[1:])
    return flop


def _window(images: Any, filters: Any, stride: Any, padding: Any) -> Sides:
    names = ("d", "h", "w")[3 - (len(images.shape) - 2) :]
    sides = {"n": images.shape[0], "c": images.shape[1], "k": filters.shape[0]}
    for axis, name in enumerate(names):
        sides[name] = images.shape[2 + axis]
        sides[f"filter_{name}"] = filters.shape[2 + axis]
        sides[f"{name}stride"] = stride[axis] if len(stride) > 1 else stride[0]
        sides[f"pad_{name}"] = padding[axis] if len(padding) > 1 else padding[0]
    return sides


def _attention(args: Any, *, backward: bool) -> tuple[float, Sides]:
    query, key, value = args[1:4] if backward else args[:3]
    batch, heads, queries, width = query.shape
    keys, value_width = key.shape[-2], value.shape[-1]
    # Forward: scores, and weighted values. Backward: scores again, and four gradients
    sums = 3 * width + 2 * value_width if backward else width + value_width
    sides = {"batch": batch, "heads": heads, "queries": queries, "keys": keys, "width": width}
    return 2.0 * batch * heads * queries * keys * sums, sides
