"""Sequential recommendation: DLRMv4 on Yambda-5B, as introduced in Training 6.1."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH, within_factors
from podium.rules.constraints.bounds import above, at_least, at_most, equals, whole
from podium.rules.constraints.evaluation_points import (
    FIRST,
    GRID_COMPUTES,
    INTERVAL,
    first_evaluation,
    on_multiples_of,
)
from podium.rules.constraints.formula import logged
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER, OPEN_FREE, OPEN_TARGET
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

PINNED = "training rules, v6.1 Specific Rules"

DLRMV4 = Benchmark(
    name="dlrmv4",
    title="Sequential recommendation: DLRMv4 on Yambda-5B",
    runs=10,
    target="AUC of 0.75",
    # The training rules use the first name, logs of the reference the second
    also_called=("dlrm_v4_hstu", "hstu", "dlrm_hstu", "dlrmv4_hstu", "recommendation_v4"),
    convergence=IN_SAMPLES,
    not_mechanical=(
        "training data is read in wall-clock order (training rules, v6.1 Training Data Order)",
    ),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, whole(), above(0), GRID_COMPUTES),
        row(k.TRAIN_SAMPLES, equals(2_290_835_423)),
        row(k.EVAL_SAMPLES, equals(2_058_204)),
        row(k.MAX_SEQUENCE_LENGTH, equals(4096)),
        # As in the reference: three layers, and 4096 positions minus those that are not history
        policy_row(k.HSTU_ATTN_NUM_LAYERS, equals(3), why=NOT_CHECKED_BY_VERIFIER, cites=PINNED),
        policy_row(k.HISTORY_LENGTH, equals(4086), why=NOT_CHECKED_BY_VERIFIER, cites=PINNED),
        row(k.OPT_NAME, equals("Adam")),
        row(k.OPT_BASE_LEARNING_RATE, within_factors(BATCH / 8192, 0.5e-6, 1.5e-6)),
        row(k.OPT_ADAM_BETA_1, equals(0.95)),
        row(k.OPT_ADAM_BETA_2, equals(0.999)),
        row(k.OPT_ADAM_EPSILON, equals(1e-08)),
        row(k.OPT_WEIGHT_DECAY, equals(0.0)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.OPT_SPARSE_NAME, equals("RowWiseAdagrad")),
        row(k.OPT_SPARSE_BASE_LEARNING_RATE, equals(logged(k.OPT_BASE_LEARNING_RATE))),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, equals(24_000)),
        row(k.OPT_LEARNING_RATE_WARMUP_START_LR, equals(0.0)),
        row(k.EVAL_EVERY_DATA_PCT, equals(0.001)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            on_multiples_of(INTERVAL),
            at_least(0.0),
            at_most(1.0),
            first_evaluation(FIRST),
            times=AT_LEAST_ONCE,
            some=(at_least(0.75),),
        ),
    ),
    open=(
        row(k.GLOBAL_BATCH_SIZE, whole(), above(0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, whole(), above(0)),
        row(k.TRAIN_SAMPLES, equals(2_290_835_423), policy_exempt_reason=OPEN_FREE),
        row(k.EVAL_SAMPLES, equals(2_058_204), policy_exempt_reason=OPEN_FREE),
        row(k.MAX_SEQUENCE_LENGTH, whole(), above(0)),
        row(k.OPT_NAME),
        row(
            k.OPT_BASE_LEARNING_RATE,
            within_factors(BATCH / 8192, 0.5e-6, 1.5e-6),
            policy_exempt_reason=OPEN_FREE,
        ),
        row(k.OPT_ADAM_BETA_1),
        row(k.OPT_ADAM_BETA_2),
        row(k.OPT_ADAM_EPSILON),
        row(k.OPT_WEIGHT_DECAY),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.OPT_SPARSE_NAME),
        row(
            k.OPT_SPARSE_BASE_LEARNING_RATE,
            within_factors(BATCH / 8192, 0.5e-6, 1.5e-6),
            policy_exempt_reason=OPEN_FREE,
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_START_LR),
        row(k.EVAL_EVERY_DATA_PCT),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            at_least(0.0),
            at_most(1.0),
            times=AT_LEAST_ONCE,
            some=Target((at_least(0.75),), policy=()),
            why=OPEN_TARGET,
        ),
    ),
)
