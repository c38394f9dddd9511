"""Training 3.0: what changed since 2.1."""

from logging_spec import keys as k
from rules.benchmark import Amend, Change
from rules.training.benchmarks.dlrm_dcnv2 import DLRM_DCNV2
from rules.training.benchmarks.gpt3 import GPT3
from rules.training.v2_1 import V2_1

V3_0 = V2_1.next(
    "3.0",
    introduces=(
        DLRM_DCNV2,
        GPT3,
    ),
    leaves=("dlrm", "minigo"),
    amends={
        "bert": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            )
        ),
        "dlrm": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            ),
        ),
        "maskrcnn": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            )
        ),
        "resnet": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            )
        ),
        "rnnt": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    k.MODEL_WEIGHTS_INITIALIZATION_SCALE,
                    "weights_initialization.tensors",
                )
            )
        ),
        "ssd": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            )
        ),
        "unet3d": Amend(
            closed=Change(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    "weights_initialization.tensors",
                )
            )
        ),
    },
)
