"""Catalysis: OpenCatalyst 2020, as introduced in HPC 1.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, at_least, at_most, equals, has
from rules.table import AT_LEAST_ONCE, row

OC20 = Benchmark(
    name="oc20",
    title="Catalysis: OpenCatalyst 2020",
    runs=5,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, equals("AdamW")),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_DECAY_BOUNDARY_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_FACTOR),
        row(
            k.EVAL_ERROR,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(0.036),
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
                at_most(0.036),
                above(0.0),
            ),
        ),
    ),
)
