"""Large language model pretraining: Llama 3.1 405B on C4, as introduced in Training 5.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH, rounded
from podium.rules.constraints.bounds import above, at_least, at_most, equals, product_equals
from podium.rules.constraints.formula import ceil, constant
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import (
    NOT_CHECKED_BY_VERIFIER,
    OPEN_FREE,
    OPEN_TARGET,
    PRESENCE,
    TRAINED,
)
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

WARMUP = ceil(constant(8000) * 1152 / BATCH)
"""Steps of warmup: 8000 at a batch of 1152 sequences."""

LLAMA31_405B = Benchmark(
    name="llama31_405b",
    title="Large language model pretraining: Llama 3.1 405B on C4",
    runs=3,
    target="log perplexity of 5.6",
    comparable=("5.0", "6.0"),
    also_called=(
        *("llama3", "llama31", "llama3_405b", "llama_405b"),
        "large_language_model_pretraining",
    ),
    borrowable=False,
    starts_from_weights=True,
    # It may converge one evaluation early in 5.0; the verifier still allows it later.
    convergence=replace(IN_SAMPLES, allowance=46_080, verifier_allowance=46_080),
    closed=(
        row(
            k.GLOBAL_BATCH_SIZE,
            policy=at_most(9216),
            why="the policy of 5.0 has no larger batch size",
            policy_severity=Severity.ERROR,
        ),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192)),
        row(k.OPT_NAME, equals("adamw")),
        row(
            k.OPT_BASE_LEARNING_RATE,
            product_equals(1152, BATCH * 8e-5),
            policy=rounded(8e-5 * BATCH / 1152, 8),
            why="the policy rounds to 8 decimals; the official verifier rejects most such rates",
        ),
        row(
            k.OPT_END_LEARNING_RATE,
            policy=equals(8e-7),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            policy=equals(ceil(constant(1_200_000) * 1152 / BATCH) - WARMUP),
            why=PRESENCE,
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, policy=equals(WARMUP), why=PRESENCE),
        policy_row(
            k.DROPOUT, equals(0.0), why=NOT_CHECKED_BY_VERIFIER, policy_severity=Severity.ERROR
        ),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-05)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        policy_row(k.TRAIN_SAMPLES, at_least(18_432), why=TRAINED),
        row(k.EVAL_SAMPLES, equals(5760)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(5.6), above(0.0)),
        ),
        row(k.INIT_CHECKPOINT_STEP, equals(0)),
    ),
    open=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192), policy_exempt_reason=OPEN_FREE),
        row(k.OPT_NAME, equals("adamw"), policy_exempt_reason=OPEN_FREE),
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
        row(k.EVAL_SAMPLES, equals(5760), policy_exempt_reason=OPEN_FREE),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=Target((at_most(5.6), above(0.0)), policy=()),
            # The verifier's open table requires epoch_num, although the closed one has
            # samples_count
            policy=has("samples_count", "epoch_num"),
            why=OPEN_TARGET,
        ),
        row(k.INIT_CHECKPOINT_STEP, equals(0), policy_exempt_reason=OPEN_FREE),
    ),
)
