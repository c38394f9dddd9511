"""The options of `podium run` and `podium profile` that say how a step is computed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Precision(StrEnum):
    """Types of number that the forward pass computes in."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"


class TrainingPrecision(StrEnum):
    """Those, and the types that only some of a model's products can have."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"


class CompileMode(StrEnum):
    """What torch.compile does besides fusing operators."""

    DEFAULT = "default"
    REDUCE_OVERHEAD = "reduce-overhead"
    MAX_AUTOTUNE = "max-autotune"


PrecisionOption = Annotated[
    Precision, typer.Option("--precision", help="Number type of the forward pass.")
]
TrainingPrecisionOption = Annotated[
    TrainingPrecision,
    typer.Option("--precision", help="Number type of the forward pass; fp8 of linear layers."),
]
CompileOption = Annotated[bool, typer.Option("--compile", help="Compile the model with torch.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda or cuda:N.", metavar="DEVICE")
]
CompileModeOption = Annotated[
    CompileMode | None,
    typer.Option("--compile-mode", help="How; reduce-overhead replays CUDA graphs."),
]
