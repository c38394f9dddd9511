"""Cosmology: CosmoFlow on N-body volumes, as introduced in HPC 1.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, at_least, at_most, below, has, one_of
from rules.table import AT_LEAST_ONCE, OPTIONAL, row

COSMOFLOW = Benchmark(
    name="cosmoflow",
    title="Cosmology: CosmoFlow on N-body volumes",
    runs=10,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, one_of("sgd", "SGD")),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_EPOCHS, at_least(0)),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS),
        row(k.OPT_LEARNING_RATE_DECAY_FACTOR),
        row(k.DROPOUT, at_least(0.0), below(1.0), times=OPTIONAL),
        row(k.OPT_WEIGHT_DECAY, at_least(0.0), times=OPTIONAL),
        row(
            k.EVAL_ERROR,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(0.124),
                above(0.0),
            ),
        ),
    ),
    open=(
        row(
            k.EVAL_ERROR,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(0.124),
                above(0.0),
            ),
        ),
    ),
)
