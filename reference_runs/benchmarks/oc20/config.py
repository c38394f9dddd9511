"""OC20: the network's widths, the graph of atoms and the schedule at both scales.

Source of the reference figures: the HPC policy's section on hyperparameters, the reference's
published configuration, and the convergence points of HPC 3.0 at a batch of 256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint


@dataclass(frozen=True, kw_only=True)
class Oc20(Config):
    """Training of a force field. A sample is a structure: some atoms in a periodic cell."""

    name: ClassVar[str] = "oc20"
    unit: ClassVar[Unit] = Unit.EPOCHS
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "mean absolute error of forces in eV/Å"
    logs_error: ClassVar[bool] = True

    # graph
    cutoff: float
    """Distance in Å up to which an edge connects two atoms."""
    neighbours: int = 50
    """Maximum number of edges that end at an atom: the shortest ones."""

    # model
    elements: int = 95
    """Rows of the embedding, by atomic number."""
    width: int
    interaction_width: int
    basis_width: int = 8
    output_width: int
    blocks: int
    radial: int = 6
    spherical: int = 7
    layers_before_skip: int = 1
    layers_after_skip: int = 2
    output_layers: int = 3
    envelope_exponent: int = 5
    """The power with which the bases vanish at the cutoff; the paper's value minus one."""
    force_scale: float
    """The network's unit of force in eV/Å."""
    force_coefficient: float = 50.0
    """Weight of the forces in the loss; that of the energies is 0 in this benchmark."""

    # optimizer
    opt_name: str = "AdamW"
    opt_base_learning_rate: float
    weight_decay: float = 0.01
    """PyTorch's default of AdamW, which the reference does not change."""
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_warmup_factor: float
    """Initial rate of the warmup, as a share of the base rate."""
    opt_learning_rate_decay_boundary_steps: tuple[int, ...]
    opt_learning_rate_decay_factor: float


def smoke() -> Oc20:
    """Small slabs with a potential of pairs and angles; about 20 s on one core."""
    samples, batch = 640, 16
    epoch = samples // batch
    return Oc20(
        cutoff=3.4,
        width=32,
        interaction_width=16,
        output_width=32,
        blocks=2,
        force_scale=0.5,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=128,
        target=0.036,
        last_step=24 * epoch,
        opt_base_learning_rate=4e-3,
        opt_learning_rate_warmup_steps=30,
        opt_learning_rate_warmup_factor=0.2,
        opt_learning_rate_decay_boundary_steps=(3 * epoch, 6 * epoch),
        opt_learning_rate_decay_factor=0.3,
    )


POINT = ReferencePoint("hpc", "3.0", "oc20", "oc20_ref_256")


def reference() -> Oc20:
    """The S2EF task with 2 million structures, with the convergence point at a batch of 256."""
    point = POINT.settings()
    samples, batch = 2_000_000, point["global_batch_size"]
    return Oc20(
        cutoff=6.0,
        width=192,
        interaction_width=64,
        output_width=192,
        blocks=3,
        force_scale=2.887317180633545,
        global_batch_size=batch,
        gradient_accumulation_steps=32,
        train_samples=samples,
        eval_samples=999_866,
        target=0.036,
        last_step=30 * (samples // batch),
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        opt_learning_rate_warmup_factor=point["opt_learning_rate_warmup_factor"],
        opt_learning_rate_decay_boundary_steps=tuple(
            point["opt_learning_rate_decay_boundary_steps"]
        ),
        opt_learning_rate_decay_factor=point["opt_learning_rate_decay_factor"],
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="oc20",
        title="Catalysis: DimeNet++ on OpenCatalyst 2020",
        smoke=smoke,
        reference=reference,
        rounds=("1.0", "2.0", "3.0"),
        point=POINT,
        usage="hpc",
        data="train/ and val_id/ with structures *.extxyz, and the list *.txt of each",
    ),
)
