"""DeepCAM: the network's widths, the optimizer and its schedule at both scales.

Source of the reference figures: the HPC policy's benchmark table and hyperparameter section of
rounds 0.7 to 3.0, the reference's published layers, reference convergence points of 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

CLASSES = 3
"""Background, tropical cyclone, atmospheric river."""

# The official verifier loads the rules of these keys only for this optimizer or schedule
ONLY_OF = {
    "opt_bias_correction": ("opt_name", "LAMB"),
    "opt_grad_averaging": ("opt_name", "LAMB"),
    "opt_max_grad_norm": ("opt_name", "LAMB"),
    "scheduler_milestones": ("scheduler_type", "multistep"),
    "scheduler_decay_rate": ("scheduler_type", "multistep"),
    "scheduler_t_max": ("scheduler_type", "cosine_annealing"),
    "scheduler_eta_min": ("scheduler_type", "cosine_annealing"),
}
"""Fields that apply to one optimizer or schedule only, and are logged only for it."""


@dataclass(frozen=True, kw_only=True)
class DeepCam(Config):
    """Training of the segmentation network. A sample is a map of the weather."""

    name: ClassVar[str] = "deepcam"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "mean intersection over union"
    rate_field: ClassVar[str] = "opt_lr"

    # data
    height: int
    width: int
    channels: int
    class_frequencies: tuple[float, ...]
    """Shares of pixels: the loss weights a class by its share to the power -0.125."""

    # model
    entry_widths: tuple[int, ...]
    """Two plain convolutions, then three blocks; the last is the width of the middle flow."""
    middle_blocks: int
    exit_widths: tuple[int, ...]
    pyramid_width: int
    pyramid_rates: tuple[int, ...]
    low_level_width: int
    batchnorm_group_size: int = 1
    """Devices that share batch norm's statistics."""
    batchnorm_span: int
    """Samples that share the statistics, on each of these devices."""

    # optimizer
    opt_name: str = "LAMB"
    opt_lr: float
    opt_betas: tuple[float, float] = (0.9, 0.999)
    opt_eps: float = 1e-6
    opt_weight_decay: float = 0.01
    opt_bias_correction: bool = True
    opt_grad_averaging: bool = True
    opt_max_grad_norm: float = 1.0

    # schedule
    scheduler_type: str = "multistep"
    scheduler_lr_warmup_steps: int = 0
    scheduler_lr_warmup_factor: float = 1.0
    scheduler_milestones: tuple[int, ...]
    scheduler_decay_rate: float = 0.1
    scheduler_t_max: int = 1
    scheduler_eta_min: float = 0.0

    @property
    def norm_span(self) -> int:
        """Samples that share batch norm's statistics."""
        return self.batchnorm_span * self.batchnorm_group_size

    @property
    def gradient_accumulation_frequency(self) -> int:
        """The name of `gradient_accumulation_steps` in the rules of this benchmark."""
        return self.gradient_accumulation_steps

    def records(self, round_name: str) -> Mapping[str, Any]:
        """All fields that are log keys and apply, and the accumulation under both its names."""
        fields = {
            name: value
            for name, value in super().records(round_name).items()
            if name not in ONLY_OF or getattr(self, ONLY_OF[name][0]) == ONLY_OF[name][1]
        }
        return {**fields, "gradient_accumulation_frequency": self.gradient_accumulation_frequency}


def smoke() -> DeepCam:
    """Maps of 48 by 64 points with swirls and plumes; about 30 s on one core."""
    samples, batch = 400, 8
    return DeepCam(
        height=48,
        width=64,
        channels=4,
        class_frequencies=(0.93, 0.03, 0.04),
        entry_widths=(8, 16, 16, 24, 32),
        middle_blocks=2,
        exit_widths=(48, 64, 64, 96),
        pyramid_width=32,
        pyramid_rates=(1, 2, 3),
        low_level_width=8,
        batchnorm_span=4,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=64,
        target=0.82,
        last_step=12 * samples // batch,
        opt_lr=1e-2,
        scheduler_milestones=(200, 400),
    )


POINT = ReferencePoint("hpc", "1.0", "deepcam", "deepcam_ref_128")


def reference() -> DeepCam:
    """CAM5 with the settings of the convergence points of HPC 1.0, at a batch of 128."""
    point = POINT.settings()
    samples, batch = 121_266, point["global_batch_size"]
    return DeepCam(
        height=768,
        width=1152,
        channels=16,
        class_frequencies=(0.986267818390377, 0.0004578708870701058, 0.01327431072255291),
        entry_widths=(32, 64, 128, 256, 728),
        middle_blocks=16,
        exit_widths=(1024, 1536, 1536, 2048),
        pyramid_width=256,
        pyramid_rates=(6, 12, 18),
        low_level_width=48,
        batchnorm_span=2,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=15_158,
        target=0.82,
        last_step=50 * (samples // batch),
        opt_name=point["opt_name"],
        opt_lr=point["opt_lr"],
        opt_betas=tuple(point["opt_betas"]),
        opt_eps=point["opt_eps"],
        opt_weight_decay=point["opt_weight_decay"],
        opt_bias_correction=point["opt_bias_correction"],
        opt_grad_averaging=point["opt_grad_averaging"],
        opt_max_grad_norm=point["opt_max_grad_norm"],
        scheduler_type=point["scheduler_type"],
        scheduler_lr_warmup_steps=point["scheduler_lr_warmup_steps"],
        scheduler_lr_warmup_factor=point["scheduler_lr_warmup_factor"],
        scheduler_milestones=tuple(point["scheduler_milestones"]),
        scheduler_decay_rate=float(point["scheduler_decay_rate"]),
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="deepcam",
        title="Climate segmentation: DeepCAM on CAM5",
        smoke=smoke,
        reference=reference,
        rounds=("0.7", "1.0", "2.0", "3.0"),
        data="train/ and validation/ with data-*.npy and label-*.npy, and stats.npz",
        usage="hpc",
        point=POINT,
        division="open",
    ),
)
