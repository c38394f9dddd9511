"""R-GAT: the graph's kinds of nodes and edges, widths and fan-outs at both scales.

Source of the reference figures: the policy's benchmark table and hyperparameter section of rounds
4.0 to 5.1, and the reference's published layers; reference convergence points for batch and rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator

Relation = tuple[str, str, str]
"""Kind of node at the source, name, kind of node at the target."""

CITES: Relation = ("paper", "cites", "paper")
FOUR_KINDS: tuple[Relation, ...] = (
    ("paper", "written_by", "author"),
    ("author", "affiliated_to", "institute"),
    ("paper", "topic", "fos"),
)
SIX_KINDS: tuple[Relation, ...] = (
    *FOUR_KINDS,
    ("paper", "published", "journal"),
    ("paper", "venue", "conference"),
)

EVALUATIONS = 20
"""Evaluations per epoch."""


def both_ways(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """Citations, which are made symmetric, and every other relation with its reverse."""
    reverse = tuple((target, f"rev_{name}", source) for source, name, target in relations)
    return (CITES, *relations, *reverse)


@dataclass(frozen=True, kw_only=True)
class Rgat(Config):
    """Training on a heterogeneous graph. A sample is a seed: a paper with a known class."""

    name: ClassVar[str] = "rgat"
    unit: ClassVar[Unit] = Unit.FRACTIONS
    metric: ClassVar[str] = "accuracy"

    # graph
    relations: tuple[Relation, ...]
    papers: int
    features: int
    classes: int

    # model
    width: int
    heads: int = 4
    fan_outs: tuple[int, ...]
    """Drawn neighbors per relation, one number per layer, from the seeds outwards."""
    dropout: float = 0.2

    # optimizer
    opt_name: str = "adam"
    opt_base_learning_rate: float

    def evaluation_steps(self) -> Iterator[int]:
        """Every twentieth of an epoch, rounded up to a whole batch; epochs may follow."""
        # Rounded up, as the policy allows an evaluation to wait for the end of a batch
        interval = math.ceil(self.train_samples / EVALUATIONS / self.global_batch_size)
        yield from range(interval, self.last_step + 1, interval)

    def benchmark_in(self, round_name: str) -> str:
        """`gnn` until round 5.0 renamed it."""
        return "gnn" if version(round_name) < (5, 0) else self.name


def smoke() -> Rgat:
    """40 000 papers of eight classes with weak features; about 10 s on one core."""
    seeds, batch = 25_600, 64
    return Rgat(
        relations=both_ways(FOUR_KINDS),
        papers=40_000,
        features=16,
        classes=8,
        width=32,
        fan_outs=(5, 3),
        global_batch_size=batch,
        train_samples=seeds,
        eval_samples=1_000,
        target=0.72,
        last_step=seeds // batch,
        opt_base_learning_rate=1e-3,
    )


POINT = ReferencePoint("training", "5.1", "rgat", "rgat_ref_4096")


def reference() -> Rgat:
    """IGBH-Full with the settings of the convergence points of 5.1, at a batch of 4096."""
    point = POINT.settings()
    seeds, batch = 94_605_581, point["global_batch_size"]
    return Rgat(
        relations=both_ways(SIX_KINDS),
        papers=269_346_174,
        features=1024,
        classes=2983,
        width=512,
        fan_outs=(15, 10, 5),
        global_batch_size=batch,
        train_samples=seeds,
        eval_samples=788_379,
        target=0.72,
        last_step=3 * (seeds // batch),
        opt_base_learning_rate=point["opt_base_learning_rate"],
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="rgat",
        title="Graph node classification: R-GAT on IGBH-Full",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("4.0", "4.1", "5.0", "5.1"),
        data="IGBH-Full's processed folder: node_feat.npy, edge_index.npy and so on",
    ),
)
