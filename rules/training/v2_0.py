"""Training 2.0: what changed since 1.1."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import small_batch_multiple
from podium.rules.constraints.bounds import above
from podium.rules.constraints.order import after, before, init_within
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.limits import Limits
from podium.rules.table import row
from podium.rules.training.benchmarks.retinanet import RETINANET
from podium.rules.training.shared import schedules
from podium.rules.training.v1_1 import V1_1

V2_0 = V1_1.next(
    "2.0",
    # The open division has 4 hours from here on (training rules, Run Results)
    limits=Limits(init_closed=30, init_open=240, evaluates=schedules.V2_0),
    package=replace(V1_1.package, preview_follow_up=True, repository_checked=True),
    retires=("ssd",),
    # Another model with the old name, which logs keep up to 4.1: nothing of SSD's table remains
    introduces=(replace(RETINANET, name="ssd"),),
    common=TableChange(
        change=(row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(30, 240)),)
    ),
    amends={
        "maskrcnn": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.OPT_BASE_LEARNING_RATE,
                        small_batch_multiple(0.02, 16),
                        policy=(small_batch_multiple(0.02, 16), above(0)),
                        why="K is a whole number of at least 1",
                        policy_severity=Severity.ERROR,
                    ),
                )
            )
        ),
        "minigo": Amend(
            closed=TableChange(drop=(k.WEIGHTS_INITIALIZATION, "weights_initialization.tensors"))
        ),
    },
)
