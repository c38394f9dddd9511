"""HPC 2.0: what changed since 1.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.order import after, before, init_within
from podium.rules.hpc.v1_0 import V1_0
from podium.rules.model.benchmark import TableChange
from podium.rules.table import row

V2_0 = V1_0.next(
    "2.0",
    package=replace(
        V1_0.package,
        borrowed_scale=True,
        median_window=True,
        normalised=True,
        preview_follow_up=True,
        pruned_instances=True,
        repository_checked=True,
        submission_rules="2.1",
    ),
    limits=replace(V1_0.limits, init_open=240),
    common=TableChange(
        change=(
            row(
                k.INIT_STOP,
                after("init_start"),
                before("run_start"),
                init_within(30),
                policy=(after("init_start"), before("run_start"), init_within(30, 240)),
                why="the training rules allow the open division 4 hours; the verifier does not",
                cites="training rules, Run Results",
            ),
        )
    ),
)
