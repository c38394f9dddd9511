"""Training 2.1: what changed since 2.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.table import row
from podium.rules.training.v2_0 import V2_0

V2_1 = V2_0.next(
    "2.1",
    package=replace(V2_0.package, normalised=True),
    amends={
        "bert": Amend(
            closed=TableChange(
                add=(
                    # The policy still names it opt_epsilon, and so do logs of this round
                    row(k.OPT_LAMB_EPSILON),
                ),
                drop=(k.OPT_EPSILON,),
            )
        )
    },
)
