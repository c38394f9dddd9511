"""Large language model pretraining: GPT-3 175B on C4, as introduced in Training 3.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, any_of, at_most, equals, has
from rules.table import AT_LEAST_ONCE, row

GPT3 = Benchmark(
    name="gpt3",
    title="Large language model pretraining: GPT-3 175B on C4",
    runs=3,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(2048)),
        row(k.OPT_NAME, equals("adam")),
        row(k.OPT_BASE_LEARNING_RATE, any_of(equals(2e-05), equals(3e-05))),
        row(k.OPT_END_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAM_BETA_1, equals(0.9)),
        row(k.OPT_ADAM_BETA_2, equals(0.95)),
        row(k.OPT_ADAM_EPSILON, equals(1e-08)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        row(k.EVAL_SAMPLES),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_most(2.69),
                above(2.6),
            ),
        ),
        row(k.INIT_CHECKPOINT_STEP, above(0)),
    ),
    open=None,
)
