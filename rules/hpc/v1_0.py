"""HPC 1.0: what changed since 0.7, and the first round with a public verifier."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.checks.catalogue import HPC
from podium.rules.constraints.benchmark_constraints import each_item
from podium.rules.constraints.bounds import above, at_least, below, equals, whole
from podium.rules.constraints.order import after, before, init_within
from podium.rules.finding import Severity
from podium.rules.hpc import schedules
from podium.rules.hpc.benchmarks.deepcam import DEEPCAM
from podium.rules.hpc.benchmarks.oc20 import OC20
from podium.rules.hpc.v0_7 import V0_7
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.reasons import PRESENCE, SAMPLES
from podium.rules.table import OPTIONAL, policy_row, row

V1_0 = V0_7.next(
    "1.0",
    verified=True,
    checks=HPC,
    package=replace(
        V0_7.package,
        tests_convergence=True,
        scaling_folders=True,
        submission_rules="1.1",
        seeds_compared=True,
        fields_checked=True,
        one_division=True,
    ),
    limits=replace(V0_7.limits, init_closed=30, init_open=30, evaluates=schedules.V1_0),
    retires=("deepcam",),
    # DeepCAM has other hyperparameters than in 0.7: the whole table is replaced
    introduces=(DEEPCAM, OC20),
    common=TableChange(
        change=(row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(30)),)
    ),
    closed=TableChange(
        add=(
            row(k.GRADIENT_ACCUMULATION_STEPS, above(0), times=OPTIONAL),
            row(k.GRADIENT_ACCUMULATION_FREQUENCY, above(0), times=OPTIONAL),
            row(k.NUMBER_OF_NODES, above(0)),
            row(k.ACCELERATORS_PER_NODE, at_least(0)),
        )
    ),
    amends={
        "cosmoflow": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS,
                        policy=each_item((whole(), above(0)), listed=True),
                        why=PRESENCE,
                        policy_severity=Severity.ERROR,
                    ),
                    policy_row(
                        k.TRAIN_SAMPLES,
                        equals(524_288),
                        why=SAMPLES,
                        policy_severity=Severity.ERROR,
                    ),
                ),
                add=(
                    row(k.DROPOUT, at_least(0.0), below(1.0), times=OPTIONAL),
                    row(k.OPT_WEIGHT_DECAY, at_least(0.0), times=OPTIONAL),
                ),
            )
        )
    },
)
