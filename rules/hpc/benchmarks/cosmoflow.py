"""Cosmology: CosmoFlow on N-body volumes, as introduced in HPC 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import each_item
from podium.rules.constraints.bounds import above, at_least, at_most, below, equals, one_of, whole
from podium.rules.constraints.members import has, part
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER, PRESENCE, SAMPLES
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

COSMOFLOW = Benchmark(
    name="cosmoflow",
    title="Cosmology: CosmoFlow on N-body volumes",
    runs=10,
    target="mean absolute error of 0.124",
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, one_of("sgd", "SGD")),
        policy_row(
            k.SGD_OPT_MOMENTUM,
            equals(0.9),
            why=NOT_CHECKED_BY_VERIFIER,
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_EPOCHS, at_least(0)),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0.0)),
        row(
            k.OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS,
            # 0.7 fixes two boundaries, 1.0 allows any number of them
            policy=(each_item((whole(), above(0)), listed=True), part("len(value)", equals(2))),
        ),
        row(
            k.OPT_LEARNING_RATE_DECAY_FACTOR,
            policy=each_item((above(0), below(1))),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        policy_row(k.TRAIN_SAMPLES, equals(262_144), why=SAMPLES, policy_severity=Severity.ERROR),
        policy_row(k.EVAL_SAMPLES, equals(65_536), why=SAMPLES, policy_severity=Severity.ERROR),
        row(k.EVAL_ERROR, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(0.124), above(0.0))),
    ),
    open=(
        row(k.EVAL_ERROR, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(0.124), above(0.0))),
    ),
)
