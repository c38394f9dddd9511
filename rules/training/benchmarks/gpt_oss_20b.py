"""Mixture-of-experts pretraining: GPT-OSS 20B on C4, as introduced in Training 6.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, any_of, at_least, at_most, equals
from podium.rules.constraints.formula import logged
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER, OPEN_FREE, OPEN_TARGET, TRAINED
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

GPT_OSS_20B = Benchmark(
    name="gpt_oss_20b",
    title="Mixture-of-experts pretraining: GPT-OSS 20B on C4",
    runs=10,
    target="log perplexity of 3.34",
    also_called=("gpt_oss", "gpt_oss_moe", "gptoss_20b", "small_llm_moe_pretraining"),
    convergence=IN_SAMPLES,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192)),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_BASE_LEARNING_RATE),
        row(
            k.OPT_END_LEARNING_RATE,
            policy=any_of(equals(0.1 * logged(k.OPT_BASE_LEARNING_RATE)), equals(4e-5)),
            why="the official verifier only requires the key; 4e-5 is an exception of 6.0",
            policy_severity=Severity.ERROR,
        ),
        policy_row(
            k.DROPOUT, equals(0.0), why=NOT_CHECKED_BY_VERIFIER, policy_severity=Severity.ERROR
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            equals(1_200_000 - logged(k.OPT_LEARNING_RATE_WARMUP_STEPS)),
        ),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-05)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        policy_row(k.TRAIN_SAMPLES, at_least(12_288), why=TRAINED),
        row(k.EVAL_SAMPLES, equals(1024)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(3.34), above(0.0)),
        ),
        row(k.MAX_STEPS, equals(1_200_000)),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=Target((at_most(3.34), above(0.0)), policy=()),
            why=OPEN_TARGET,
        ),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192), policy_exempt_reason=OPEN_FREE),
        row(k.OPT_NAME, equals("adamw"), policy_exempt_reason=OPEN_FREE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_END_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE),
        row(k.OPT_ADAMW_BETA_1),
        row(k.OPT_ADAMW_BETA_2),
        row(k.OPT_ADAMW_EPSILON),
        row(k.OPT_ADAMW_WEIGHT_DECAY),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.GRADIENT_ACCUMULATION_STEPS),
        row(k.EVAL_SAMPLES),
        row(k.MAX_STEPS),
    ),
)
