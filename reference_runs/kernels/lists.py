"""DeepBench's lists of problems: for training, and for inference on servers and devices."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from podium.reference_runs.kernels.problems import (
    AllReduce,
    Convolution,
    ConvolutionPass,
    Gemm,
    Listed,
    Recurrent,
    RecurrentPass,
    SparseGemm,
)

ListName = Literal["training", "server", "device"]
LISTS: tuple[ListName, ...] = get_args(ListName)

TRAINED_CONVOLUTION: tuple[ConvolutionPass, ...] = get_args(ConvolutionPass)
TRAINED_RECURRENT: tuple[RecurrentPass, ...] = get_args(RecurrentPass)


@cache
def plain(name: str) -> dict[str, Any]:
    """A data file in this module's folder: problems or public sheets."""
    content: dict[str, Any] = json.loads(files(__package__).joinpath("data", name).read_bytes())
    return content


def rows(kind: str, name: ListName) -> Sequence[Sequence[Any]]:
    """The rows of a DeepBench list; empty for a list that DeepBench does not have."""
    listed_rows: Sequence[Sequence[Any]] = plain("problems.json")[kind].get(name, ())
    return listed_rows


def listed(name: ListName, ranks: int, rows_of_ranks: int = 1) -> list[Listed]:
    """Every problem of a list, in order, without duplicates; training lists in all directions."""
    mesh = (ranks, rows_of_ranks)
    made = (problem for kind in _MAKERS for problem in _MAKERS[kind](name, mesh))
    return list(dict.fromkeys(made))


def gemms(name: ListName) -> Iterator[Gemm]:
    """Matrix products."""
    for m, n, k, a_t, b_t in rows("gemm", name):
        yield Gemm(m, n, k, bool(a_t), bool(b_t))


def convolutions(name: ListName) -> Iterator[Convolution]:
    """Convolutions, with both backward passes in training."""
    for row in rows("convolution", name):
        for direction in TRAINED_CONVOLUTION if name == "training" else TRAINED_CONVOLUTION[:1]:
            yield replace(Convolution(*row), direction=direction)


def recurrents(name: ListName) -> Iterator[Recurrent]:
    """Recurrent layers, with the backward pass in training."""
    for cell, hidden, batch, timesteps in rows("recurrent", name):
        for direction in TRAINED_RECURRENT if name == "training" else TRAINED_RECURRENT[:1]:
            yield Recurrent(cell, hidden, batch, timesteps, direction)


_MAKERS: dict[str, Callable[[ListName, tuple[int, int]], Iterator[Listed]]] = {
    "gemm": lambda name, _: gemms(name),
    "convolution": lambda name, _: convolutions(name),
    "recurrent": lambda name, _: recurrents(name),
    "sparse_gemm": lambda name, _: (SparseGemm(*row) for row in rows("sparse_gemm", name)),
    "all_reduce": lambda name, mesh: (
        AllReduce(elements, *mesh) for (elements,) in rows("all_reduce", name)
    ),
}
