"""Mixture-of-experts pretraining: DeepSeek-V3 671B on C4, as introduced in Training 6.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH, rounded
from podium.rules.constraints.bounds import above, at_least, at_most, close_to, equals
from podium.rules.constraints.formula import logged, sqrt
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import OPEN_FREE, OPEN_TARGET, TRAINED
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

DEEPSEEKV3_671B = Benchmark(
    name="deepseekv3_671b",
    title="Mixture-of-experts pretraining: DeepSeek-V3 671B on C4",
    also_called=("deepseek", "deepseekv3", "dsv3", "dsv3_671b", "llm_moe_pretraining"),
    runs=3,
    target="loss of 3.6",
    starts_from_weights=True,
    convergence=IN_SAMPLES,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, at_least(15_360)),
        row(k.MAX_SEQUENCE_LENGTH, equals(4096)),
        row(k.OPT_NAME, equals("adamw")),
        row(
            k.OPT_BASE_LEARNING_RATE,
            close_to(2.4e-5 * sqrt(BATCH / 16_384), 1e-9),
            policy=rounded(2.4e-5 * sqrt(BATCH / 16_384), 9),
            why="the policy rounds to 9 decimals; the official verifier also accepts one more or "
            "one less",
            policy_severity=Severity.ERROR,
        ),
        row(k.MAX_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, equals(4)),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            equals(12_000 - logged(k.OPT_LEARNING_RATE_WARMUP_STEPS)),
        ),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-08)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.MOE_AUX_LOSS_COEFF, equals(0.01)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        policy_row(k.TRAIN_SAMPLES, at_least(BATCH), why=TRAINED),
        row(k.EVAL_SAMPLES, equals(1024)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(3.6), above(0.0)),
        ),
    ),
    open=(
        row(k.GLOBAL_BATCH_SIZE, at_least(15_360), policy_exempt_reason=OPEN_FREE),
        row(k.MAX_SEQUENCE_LENGTH, equals(4096), policy_exempt_reason=OPEN_FREE),
        row(k.OPT_NAME, equals("adamw"), policy_exempt_reason=OPEN_FREE),
        row(k.MAX_STEPS),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE),
        row(k.OPT_ADAMW_BETA_1),
        row(k.OPT_ADAMW_BETA_2),
        row(k.OPT_ADAMW_EPSILON),
        row(k.OPT_ADAMW_WEIGHT_DECAY),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.MOE_AUX_LOSS_COEFF),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        row(k.EVAL_SAMPLES, equals(1024), policy_exempt_reason=OPEN_FREE),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=Target((at_most(3.6), above(0.0)), policy=()),
            why=OPEN_TARGET,
        ),
    ),
)
