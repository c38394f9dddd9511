"""Language model: BERT-large on Wikipedia, as introduced in Training 0.7."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import at_least, below, has
from rules.special import relaxed_target
from rules.table import AT_LEAST_ONCE, row

BERT = Benchmark(
    name="bert",
    title="Language model: BERT-large on Wikipedia",
    runs=10,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_EPSILON),
        row(k.OPT_LEARNING_RATE_TRAINING_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.NUM_WARMUP_STEPS),
        row(k.START_WARMUP_STEP),
        row(k.OPT_LAMB_BETA_1),
        row(k.OPT_LAMB_BETA_2),
        row(k.OPT_LAMB_WEIGHT_DECAY_RATE),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                relaxed_target(0.712, 0.706, 8192),
                below(1.0),
            ),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_least(0.712),
                below(1.0),
            ),
        ),
    ),
)
