"""The kernels that can be measured, with their FLOP and the elements that they read and write.

The formulas are DeepBench's (Baidu Research, Apache-2.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "gemm",
    "convolution",
    "recurrent",
    "sparse_gemm",
    "all_reduce",
    "attention",
    "embedding",
    "norm",
    "optimizer",
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
Cell = Literal["vanilla", "lstm", "gru"]
ConvolutionPass = Literal["forward", "backward_inputs", "backward_weights"]
RecurrentPass = Literal["forward", "backward"]

GATES: dict[Cell, int] = {"vanilla": 1, "lstm": 4, "gru": 3}


@dataclass(frozen=True)
class Gemm:
    """A (m, k) times B (k, n); `a_t` and `b_t` say whether each is stored transposed."""

    m: int
    n: int
    k: int
    a_t: bool = False
    b_t: bool = False
    kind: Literal["gemm"] = "gemm"

    @property
    def flop(self) -> float:
        """Multiplications and additions."""
        return 2.0 * self.m * self.n * self.k

    @property
    def numbers(self) -> float:
        """Elements read and written, each counted once."""
        return float(self.m * self.k + self.k * self.n + self.m * self.n)

    @property
    def label(self) -> str:
        """Dimensions, and the transposed matrices."""
        flags = "".join("T" if transposed else "N" for transposed in (self.a_t, self.b_t))
        return f"{self.m}x{self.n}x{self.k} {flags}"


@dataclass(frozen=True)
class Convolution:
    """A convolution in two dimensions, NCHW: n images (c, h, w) by k filters."""

    w: int
    h: int
    c: int
    n: int
    k: int
    filter_w: int
    filter_h: int
    pad_w: int
    pad_h: int
    wstride: int
    hstride: int
    direction: ConvolutionPass = "forward"
    kind: Literal["convolution"] = "convolution"

    @property
    def p(self) -> int:
        """Height of the output."""
        return (self.h + 2 * self.pad_h - self.filter_h) // self.hstride + 1

    @property
    def q(self) -> int:
        """Width of the output."""
        return (self.w + 2 * self.pad_w - self.filter_w) // self.wstride + 1

    @property
    def flop(self) -> float:
        """Multiplications and additions, the same in every direction."""
        return self.flop_of_output(self.p, self.q)

    def flop_of_output(self, p: float, q: float) -> float:
        """The FLOP for an output of p x q; some public sheets have fractional sizes."""
        return 2.0 * p * q * self.k * self.c * self.filter_w * self.filter_h * self.n

    @property
    def numbers(self) -> float:
        """Elements read and written, each counted once: images, filters and outputs."""
        images = self.n * self.c * self.h * self.w
        filters = self.k * self.c * self.filter_h * self.filter_w
        return float(images + filters + self.n * self.k * self.p * self.q)

    @property
    def label(self) -> str:
        """Images, filters, strides and the direction."""
        return (
            f"{self.n}x{self.c}x{self.h}x{self.w} by {self.k}x{self.filter_h}x{self.filter_w}"
            f" /{self.hstride}x{self.wstride} +{self.pad_h}x{self.pad_w} {self.direction}"
        )


@dataclass(frozen=True)
class Recurrent:
    """A recurrent layer over time without its input product, as DeepBench times it."""

    cell: Cell
    hidden: int
    batch: int
    timesteps: int
    direction: RecurrentPass = "forward"
    kind: Literal["recurrent"] = "recurrent"

    @property
    def flop(self) -> float:
        """FLOP of the recurrent product; a backward pass has two such products."""
        once = 2.0 * GATES[self.cell] * self.hidden**2 * self.batch * self.timesteps
        return once * (2 if self.direction == "backward" else 1)

    @property
    def numbers(self) -> float:
        """Elements read and written: weights once, states and gates of every time step."""
        weights = GATES[self.cell] * self.hidden**2
        states = (1 + GATES[self.cell]) * self.hidden * self.batch * self.timesteps
        return float(weights + states) * (2 if self.direction == "backward" else 1)

    @property
    def label(self) -> str:
        """Cell, width, sequences, time steps and the direction."""
        return f"{self.cell} {self.hidden} x{self.batch} t{self.timesteps} {self.direction}"


@dataclass(frozen=True)
class SparseGemm:
    """A (m, k), a fraction `sparsity` of which is zero, times a dense B (k, n)."""

    m: int
    n: int
    k: int
    sparsity: float
    kind: Literal["sparse_gemm"] = "sparse_gemm"

    @property
    def flop(self) -> float:
        """FLOP of the nonzero entries."""
        return 2.0 * self.m * self.n * self.k * (1 - self.sparsity)

    @property
    def numbers(self) -> float:
        """Elements read and written, without the indices of A's nonzero entries."""
        return self.m * self.k * (1 - self.sparsity) + self.k * self.n + self.m * self.n

    @property
    def label(self) -> str:
        """Dimensions and sparsity."""
        return f"{self.m}x{self.n}x{self.k} {self.sparsity:.0%} zero"


@dataclass(frozen=True)
class AllReduce:
    """A sum of `elements` single-precision numbers over all ranks."""

    elements: int
    ranks: int
    rows: int = 1
    """Rows of the mesh of ranks; with one row, the algorithm is the library's."""
    kind: Literal["all_reduce"] = "all_reduce"

    @property
    def flop(self) -> float:
        """Not counted."""
        return 0.0

    @property
    def numbers(self) -> float:
        """The elements of every rank, as in DeepBench."""
        return float(self.elements * self.ranks)

    @property
    def label(self) -> str:
        """Elements and ranks."""
        mesh = f"{self.rows}x" if self.rows > 1 else ""
        return f"{self.elements} on {mesh}{self.ranks // self.rows} ranks"


@dataclass(frozen=True)
class Call:
    """An operator call in a trainer's step; `inputs` has shapes, types and values.

    FLOP and bytes are those of the tensors in the call.
    """

    kind: Kind
    operator: str
    inputs: str
    flop: float
    bytes: float
    dimensions: tuple[tuple[str, int], ...] = ()
    """Dimensions by their usual names, for products, convolutions and attention."""

    @property
    def label(self) -> str:
        """The operator, and its dimensions or inputs."""
        sides = " ".join(f"{name}={size}" for name, size in self.dimensions)
        return f"{self.operator.removeprefix('aten::')} {sides or self.inputs}"


Listed = Gemm | Convolution | Recurrent | SparseGemm | AllReduce
Problem = Listed | Call

NUMBER_BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
"""Bytes per element for each precision."""


def bytes_of(problem: Problem, precision: str) -> float:
    """Bytes that a problem reads and writes, each counted once."""
    if isinstance(problem, Call):
        return problem.bytes
    size = 4 if isinstance(problem, AllReduce) else NUMBER_BYTES[precision]
    return problem.numbers * size


def part_of(problem: Problem) -> str:
    """A problem's kind, with its direction if there are several."""
    return f"{problem.kind} {getattr(problem, 'direction', '')}".rstrip()
