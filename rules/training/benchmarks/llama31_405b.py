"""Large language model pretraining: Llama 3.1 405B on C4, as introduced in Training 5.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, at_most, ceil, equals, has, product_equals
from rules.special import BATCH
from rules.table import AT_LEAST_ONCE, row

WARMUP = ceil(8000 * 1152 / BATCH)
"""Steps of warmup: 8000 at a batch of 1152 sequences."""

LLAMA31_405B = Benchmark(
    name="llama31_405b",
    title="Large language model pretraining: Llama 3.1 405B on C4",
    runs=3,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192)),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_BASE_LEARNING_RATE, product_equals(1152, BATCH * 8e-5)),
        row(k.OPT_END_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-05)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        row(k.EVAL_SAMPLES, equals(5760)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(5.6),
                above(0.0),
            ),
        ),
        row(k.INIT_CHECKPOINT_STEP, equals(0)),
    ),
    open=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192)),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_END_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE),
        row(k.OPT_ADAMW_BETA_1),
        row(k.OPT_ADAMW_BETA_2),
        row(k.OPT_ADAMW_EPSILON),
        row(k.OPT_ADAMW_WEIGHT_DECAY),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        row(k.EVAL_SAMPLES, equals(5760)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(5.6),
                above(0.0),
            ),
        ),
        row(k.INIT_CHECKPOINT_STEP, equals(0)),
    ),
)
