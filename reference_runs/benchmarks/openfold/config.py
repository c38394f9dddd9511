"""OpenFold: the network's widths, its data and its training, at both scales.

Source of the reference figures: Jumper et al., supplementary information of AlphaFold 2 (2021),
the HPC policy and rules of 3.0, and the convergence points of HPC 3.0 at a batch of 128.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

NONE = "none: made chains"
"""Logged for dates and files that smoke scale does not have."""


@dataclass(frozen=True, kw_only=True)
class OpenFold(Config):
    """Training of the network. A sample is a crop of a protein chain."""

    name: ClassVar[str] = "openfold"
    unit: ClassVar[Unit] = Unit.SAMPLES_AS_EPOCHS
    metric: ClassVar[str] = "mean lDDT-C-alpha"

    # data
    kinds: int
    """Number of amino acids."""
    train_max_pdb_release_date: str = NONE
    val_min_cameo_submission_date: str = NONE
    val_max_cameo_submission_date: str = NONE
    val_max_sequence_length: int
    val_every_iters: int = 40
    train_sequence_crop_size: int
    max_msa_clusters: int
    max_extra_msa: int
    templates_enabled: bool = True
    max_templates: int
    initial_training_dataloader_type: str = "InitialTrainingDataloaderPT"
    init_checkpoint_sha256sum: str = NONE

    # model
    model_parameters_count: int
    row_width: int
    pair_width: int
    single_width: int
    extra_width: int
    template_width: int
    row_heads: int = 8
    row_hidden: int = 32
    extra_hidden: int = 8
    pair_heads: int = 4
    pair_hidden: int = 32
    product_hidden: int = 128
    outer_hidden: int = 32
    template_hidden: int = 16
    template_product_hidden: int = 64
    blocks: int
    extra_blocks: int
    template_blocks: int
    relative_positions: int = 32
    structure_layers: int
    point_heads: int = 12
    point_hidden: int = 16
    query_points: int = 4
    value_points: int = 8
    angle_width: int = 128
    confidence_width: int = 128
    atom_types: int = 37
    row_dropout: float = 0.15
    pair_dropout: float = 0.25
    structure_dropout: float = 0.1
    num_recycling_iters: int

    # loss
    fape_loss_weight: float = 1.0
    fape_loss_backbone_weight: float = 0.5
    fape_loss_sidechain_weight: float = 0.5
    supervised_chi_loss_weight: float = 1.0
    distogram_loss_weight: float = 0.3
    masked_msa_loss_weight: float = 2.0
    plddt_loss_weight: float = 0.01

    # optimizer
    opt_name: str = "Adam"
    opt_base_learning_rate: float
    opt_adam_beta_1: float = 0.9
    opt_adam_beta_2: float = 0.999
    opt_adam_epsilon: float = 1e-6
    opt_weight_decay: float = 0.0
    opt_amsgrad: bool = False
    opt_gradient_clipping: bool = True
    opt_gradient_clip_norm: float = 0.1
    opt_learning_rate_warmup_init: float
    opt_learning_rate_warmup_steps: int
    swa_enabled: bool = True
    swa_decay_rate: float = 0.9

    def evaluation_steps(self) -> Iterator[int]:
        """Every `val_every_iters` steps."""
        yield from range(self.val_every_iters, self.last_step + 1, self.val_every_iters)

    def records(self, round_name: str) -> Mapping[str, Any]:
        """All fields that are log keys, and the target under this benchmark's name for it."""
        return {**super().records(round_name), "target_avg_lddt_ca_value": self.target}


def smoke() -> OpenFold:
    """Chains of 12 residues whose alignments determine their fold."""
    length = 12
    return OpenFold(
        kinds=20,
        val_max_sequence_length=length,
        train_sequence_crop_size=length,
        max_msa_clusters=6,
        max_extra_msa=8,
        max_templates=1,
        model_parameters_count=326_483,
        **_small(length),
        num_recycling_iters=1,
        # With the published weights the small network learns distances and tokens first, and its
        # residues hardly move in the first hundreds of steps
        supervised_chi_loss_weight=0.1,
        distogram_loss_weight=0.02,
        masked_msa_loss_weight=0.1,
        global_batch_size=8,
        train_samples=4096,
        eval_samples=64,
        target=0.8,
        last_step=800,
        opt_base_learning_rate=1e-3,
        opt_adam_beta_2=0.99,
        opt_learning_rate_warmup_init=1e-4,
        opt_learning_rate_warmup_steps=20,
    )


def _small(length: int) -> dict[str, Any]:
    """Widths and depths of a network that one core can train, for chains of a length."""
    return {
        "row_width": 48,
        "pair_width": 24,
        "single_width": 128,
        "extra_width": 16,
        "template_width": 16,
        "row_heads": 4,
        "row_hidden": 8,
        "pair_hidden": 8,
        "product_hidden": 16,
        "outer_hidden": 8,
        "template_hidden": 4,
        "template_product_hidden": 16,
        "blocks": 2,
        "extra_blocks": 1,
        "template_blocks": 1,
        "relative_positions": length,
        "structure_layers": 2,
        "point_heads": 4,
        "point_hidden": 8,
        "angle_width": 32,
        "confidence_width": 32,
        "atom_types": 6,
        "row_dropout": 0.0,
        "pair_dropout": 0.0,
        "structure_dropout": 0.0,
    }


POINT = ReferencePoint("hpc", "3.0", "openfold", "openfold_ref_128")
FROM_POINT = (
    *("val_every_iters", "initial_training_dataloader_type", "global_batch_size"),
    *("opt_base_learning_rate", "opt_adam_beta_1", "opt_adam_beta_2", "opt_adam_epsilon"),
    *("opt_weight_decay", "opt_amsgrad", "opt_gradient_clipping", "opt_gradient_clip_norm"),
    *("opt_learning_rate_warmup_init", "opt_learning_rate_warmup_steps"),
    *("swa_enabled", "swa_decay_rate"),
)
"""Fields of the convergence point."""


def reference() -> OpenFold:
    """The initial training of model 1 with the convergence point of HPC 3.0 at a batch of 128."""
    point = POINT.settings()
    return OpenFold(
        kinds=20,
        train_max_pdb_release_date="2021-09-16",
        val_min_cameo_submission_date="2021-09-17",
        val_max_cameo_submission_date="2021-12-11",
        val_max_sequence_length=700,
        train_sequence_crop_size=256,
        max_msa_clusters=124,
        max_extra_msa=1024,
        max_templates=4,
        init_checkpoint_sha256sum="b518be4677048f2c0f94889c91e2da73655a73b825a8aa7f8b6f5e580d8ffbed",
        model_parameters_count=93_229_082,
        row_width=256,
        pair_width=128,
        single_width=384,
        extra_width=64,
        template_width=64,
        blocks=48,
        extra_blocks=4,
        template_blocks=2,
        structure_layers=8,
        num_recycling_iters=3,
        gradient_accumulation_steps=point["global_batch_size"],
        train_samples=594_595,
        eval_samples=180,
        target=0.8,
        last_step=2000,
        **{name: point[name] for name in FROM_POINT},
    )


BENCHMARKS = (
    Benchmark(
        name="openfold",
        title="Protein structure: AlphaFold 2 as OpenFold",
        smoke=smoke,
        reference=reference,
        rounds=("3.0",),
        point=POINT,
        usage="hpc",
        division="open",
        data="not read by podium: records and network only, without training",
    ),
)
