"""Catalysis: OpenCatalyst 2020, as introduced in HPC 1.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import each_item
from podium.rules.constraints.bounds import above, at_least, at_most, equals, whole
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import PRESENCE, SAMPLES
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

OC20 = Benchmark(
    name="oc20",
    title="Catalysis: OpenCatalyst 2020",
    also_called=("open_catalyst", "opencatalyst_2020", "ocp"),
    runs=5,
    target="force mean absolute error of 0.036",
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, equals("AdamW")),
        row(
            k.OPT_BASE_LEARNING_RATE,
            at_least(0.0),
            policy=above(0),
            why="the policy requires more than 0",
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(
            k.OPT_LEARNING_RATE_WARMUP_FACTOR,
            at_least(0.0),
            policy=(at_least(0.0), at_most(1.0)),
            why="the official verifier has no upper bound",
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_LEARNING_RATE_DECAY_BOUNDARY_STEPS,
            policy=each_item((whole(), above(0)), listed=True),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_LEARNING_RATE_DECAY_FACTOR,
            policy=each_item((at_least(0.0), at_most(1.0))),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        policy_row(k.TRAIN_SAMPLES, equals(2_000_000), why=SAMPLES, policy_severity=Severity.ERROR),
        policy_row(k.EVAL_SAMPLES, equals(999_866), why=SAMPLES, policy_severity=Severity.ERROR),
        row(k.EVAL_ERROR, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(0.036), above(0.0))),
    ),
    open=(
        row(k.EVAL_ERROR, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(0.036), above(0.0))),
    ),
)
