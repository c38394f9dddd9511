"""Training 3.1: what changed since 3.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least
from podium.rules.constraints.members import has, if_given, part
from podium.rules.constraints.order import after, before, init_within
from podium.rules.model.benchmark import Amend, ConvergenceRules, TableChange
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.benchmarks.stable_diffusion import STABLE_DIFFUSION
from podium.rules.training.v3_0 import V3_0

V3_1 = V3_0.next(
    "3.1",
    package=replace(V3_0.package, power=True),
    introduces=(STABLE_DIFFUSION,),
    common=TableChange(
        change=(
            row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(30, 240)),
            row(
                k.BLOCK_START,
                after("run_start"),
                # step_num came with Stable Diffusion; 4.0 replaces it with samples_count
                has("epoch_count", "step_num"),
                if_given("epoch_count", has("first_epoch_num")),
                if_given("epoch_count", part("metadata.epoch_count", above(0))),
                if_given("step_num", part("metadata.step_num", at_least(0))),
                times=AT_LEAST_ONCE.otherwise("epoch_start"),
            ),
            row(
                k.BLOCK_STOP,
                has("first_epoch_num", "step_num"),
                times=AT_LEAST_ONCE.otherwise("epoch_stop"),
            ),
            row(
                k.EVAL_START,
                has("epoch_num", "step_num"),
                times=AT_LEAST_ONCE.otherwise("block_start"),
            ),
            row(
                k.EVAL_STOP,
                has("epoch_num", "step_num"),
                times=AT_LEAST_ONCE.otherwise("block_stop"),
            ),
            row(k.EVAL_ACCURACY, has("epoch_num", "step_num"), times=AT_LEAST_ONCE),
        )
    ),
    amends={
        "gpt3": Amend(init_minutes=30, why="only 3.0 allowed the longer initialization"),
        # Published logs count samples from this round on, still under epoch_num
        "unet3d": Amend(convergence=ConvergenceRules(unit="samples")),
    },
)
