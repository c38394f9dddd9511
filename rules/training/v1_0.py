"""Training 1.0: what changed since 0.7."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, below
from podium.rules.constraints.members import has, part, value_has
from podium.rules.constraints.order import after, before, init_within
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.limits import Limits
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.benchmarks.rnnt import RNNT
from podium.rules.training.benchmarks.unet3d import UNET3D
from podium.rules.training.shared import schedules
from podium.rules.training.v0_7 import V0_7

V1_0 = V0_7.next(
    "1.0",
    # An exception for 1.0 only: the usual limit of the policy is 20 minutes until 2.0
    limits=Limits(init_closed=30, init_open=30, evaluates=schedules.V1_0),
    # The official package checker compares seeds of this and all later rounds, although the policy
    # requires them since 4.1
    package=replace(
        V0_7.package,
        tests_convergence=True,
        borrowed_scale=True,
        seeds_compared=True,
        fields_checked=True,
    ),
    names_in=("division",),
    retires=("gnmt", "transformer"),
    introduces=(RNNT, UNET3D),
    common=TableChange(
        change=(row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(30)),)
    ),
    closed=TableChange(add=(row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),)),
    amends={
        "bert": Amend(
            target="masked-token accuracy of 0.720",
            comparable=("1.0", "5.0"),
            closed=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        has("epoch_num"),
                        times=AT_LEAST_ONCE,
                        some=(at_least(0.72), below(1.0)),
                    ),
                )
            ),
            # From here on most open logs need no target, only a value that can be a quality
            open=TableChange(
                change=(
                    row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),
                )
            ),
        ),
        "dlrm": Amend(
            open=TableChange(
                change=(
                    row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),
                )
            )
        ),
        "maskrcnn": Amend(
            open=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        value_has("BBOX"),
                        value_has("SEGM"),
                        has("epoch_num"),
                        times=AT_LEAST_ONCE,
                        some=(part("value.BBOX", below(1.0)), part("value.SEGM", below(1.0))),
                    ),
                )
            )
        ),
        "minigo": Amend(
            open=TableChange(
                change=(
                    row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),
                )
            )
        ),
        "resnet": Amend(
            open=TableChange(
                change=(
                    row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),
                )
            )
        ),
        "ssd": Amend(
            open=TableChange(
                change=(
                    row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),
                )
            )
        ),
    },
)
