"""Training 5.0: what changed since 4.1."""

from podium.logging_spec import keys as k
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.benchmarks.llama31_405b import LLAMA31_405B
from podium.rules.training.v4_1 import V4_1

V5_0 = V4_1.next(
    "5.0",
    retires=("gpt3",),
    introduces=(LLAMA31_405B,),
    common=TableChange(
        change=(
            row(
                k.EPOCH_START,
                has("epoch_num", "samples_count"),
                times=AT_LEAST_ONCE.otherwise("block_start"),
            ),
            row(
                k.EPOCH_STOP,
                has("epoch_num", "samples_count"),
                times=AT_LEAST_ONCE.otherwise("block_stop"),
            ),
        ),
        # Only in this round: 5.1 requires both again
        drop=(k.SUBMISSION_ORG, k.SUBMISSION_PLATFORM),
    ),
    # New names for the same models: their results stay comparable
    amends={"ssd": Amend(rename="retinanet"), "gnn": Amend(rename="rgat")},
)
