"""Training 3.0: what changed since 2.1."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import init_longer_for
from podium.rules.constraints.order import after, before, init_within
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.table import row
from podium.rules.training.benchmarks.dlrm_dcnv2 import DLRM_DCNV2
from podium.rules.training.benchmarks.gpt3 import GPT3
from podium.rules.training.v2_1 import V2_1

V3_0 = V2_1.next(
    "3.0",
    # One hour for closed GPT-3, only in this round (training rules, v3.0 Specific Rules)
    introduces=(DLRM_DCNV2, replace(GPT3, init_minutes=60)),
    # 3.0 and 3.1 still ship their rule files, although no list of names has them
    leaves=("dlrm", "minigo"),
    common=TableChange(
        change=(
            row(
                k.INIT_STOP,
                after("init_start"),
                before("run_start"),
                init_within(30, 240),
                policy=(
                    after("init_start"),
                    before("run_start"),
                    init_longer_for(30, 240, "gpt3", 60),
                ),
                why="3.0 allows gpt3 60 minutes; the official verifier does not",
                cites="training rules, v3.0 Specific Rules",
            ),
        )
    ),
    amends={
        # Lists of initialized tensors are required only until 2.1
        "bert": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
        "dlrm": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
        "maskrcnn": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
        "resnet": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
        "rnnt": Amend(
            closed=TableChange(
                drop=(
                    k.WEIGHTS_INITIALIZATION,
                    k.MODEL_WEIGHTS_INITIALIZATION_SCALE,
                    "weights_initialization.tensors",
                )
            )
        ),
        "ssd": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
        "unet3d": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
    },
)
