"""Language model reinforcement learning: Qwen3.5 397B with GRPO, as introduced in Training 6.1."""

from collections.abc import Iterator

from podium.logging_spec import keys as k
from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.constraints.benchmark_constraints import (
    BATCH,
    batch_is_prompts_times,
)
from podium.rules.constraints.bounds import (
    above,
    at_least,
    at_most,
    close_to,
    computes,
    equals,
    whole,
)
from podium.rules.constraints.evaluation_points import (
    every_batch_from,
    every_batch_in_any_order,
)
from podium.rules.constraints.formula import ceil, sqrt
from podium.rules.constraints.members import has
from podium.rules.finding import StatedBy
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import OPEN_FREE, OPEN_TARGET
from podium.rules.run import Run
from podium.rules.table import AT_LEAST_ONCE, CannotJudge, Target, Violation, WholeLogRule, row

START = BATCH * ceil(2.5 + 3840 / BATCH)
"""Samples before the first validation."""


def _negative_batch(run: Run) -> Iterator[Violation]:
    """The official verifier crashes on the square root of a negative batch size."""
    for index in run.where.get(k.GLOBAL_BATCH_SIZE.name, ()):
        value = run.records[index].value
        if isinstance(value, int | float) and value < 0:
            raise CannotJudge(index, f"global_batch_size is {value}")
    yield from ()


BATCH_SIGN = WholeLogRule(
    "global_batch_size.sign",
    "global_batch_size above 0",
    _negative_batch,
    cites=COMPLIANCE_CHECKER,
    stated_by=StatedBy.VERIFIER,
)

ANY_ORDER = (
    "checkpoints are evaluated after the run in any order; the official verifier requires them in "
    "training order"
)

QWEN35_397B_GRPO = Benchmark(
    name="qwen35_397b_grpo",
    title="Language model reinforcement learning: Qwen3.5 397B with GRPO",
    also_called=("qwen", "qwen35", "qwen35_397b", "qwen35_grpo", "grpo"),
    runs=3,
    target="pass@4 above 0.69",
    starts_from_weights=True,
    convergence=IN_SAMPLES,
    not_mechanical=(
        "generation is at full capacity until training stops (training rules, v6.1 Specific Rules)",
    ),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, whole(), above(0), computes(START)),
        BATCH_SIGN,
        row(k.MAX_SEQUENCE_LENGTH, equals(65_536)),
        row(k.EVAL_SAMPLES, equals(251)),
        row(k.INIT_CHECKPOINT_STEP, equals(0)),
        row(k.MAX_STEPS),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_BASE_LEARNING_RATE, close_to(1e-6 * sqrt(BATCH / 256), 1e-9)),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.999)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-08)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.0)),
        row(k.OPT_GRADIENT_CLIP_NORM, close_to(0.125 * sqrt(256 / BATCH), 1e-9)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, equals(0)),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("constant")),
        row(k.GENERATION_TRAINING_ROLLOUT_TEMPERATURE, equals(1.0)),
        row(k.GENERATION_TRAINING_ROLLOUT_TOP_P, equals(1.0)),
        row(k.GENERATION_VALIDATION_ROLLOUT_TEMPERATURE, equals(0.1)),
        row(k.GENERATION_VALIDATION_ROLLOUT_TOP_P, equals(0.95)),
        row(k.NUM_PROMPTS_PER_STEP, whole(), above(0)),
        row(k.NUM_GENERATIONS_PER_PROMPT, equals(16), batch_is_prompts_times()),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            every_batch_from(START),
            at_least(0.0),
            at_most(1.0),
            policy=(
                has("samples_count"),
                every_batch_in_any_order(START),
                at_least(0.0),
                at_most(1.0),
            ),
            why=ANY_ORDER,
            times=AT_LEAST_ONCE,
            some=(above(0.69),),
        ),
    ),
    open=(
        row(k.GLOBAL_BATCH_SIZE, whole(), above(0), computes(START)),
        BATCH_SIGN,
        row(k.MAX_SEQUENCE_LENGTH, equals(65_536), policy_exempt_reason=OPEN_FREE),
        row(k.EVAL_SAMPLES, equals(251), policy_exempt_reason=OPEN_FREE),
        row(k.INIT_CHECKPOINT_STEP, equals(0), policy_exempt_reason=OPEN_FREE),
        row(k.MAX_STEPS),
        row(k.OPT_NAME, equals("adamw"), policy_exempt_reason=OPEN_FREE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_ADAMW_BETA_1),
        row(k.OPT_ADAMW_BETA_2),
        row(k.OPT_ADAMW_EPSILON),
        row(k.OPT_ADAMW_WEIGHT_DECAY),
        row(k.OPT_GRADIENT_CLIP_NORM),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE),
        row(k.GENERATION_TRAINING_ROLLOUT_TEMPERATURE),
        row(k.GENERATION_TRAINING_ROLLOUT_TOP_P),
        row(k.GENERATION_VALIDATION_ROLLOUT_TEMPERATURE),
        row(k.GENERATION_VALIDATION_ROLLOUT_TOP_P),
        row(k.NUM_PROMPTS_PER_STEP, whole(), above(0)),
        row(k.NUM_GENERATIONS_PER_PROMPT, whole(), above(0)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            at_least(0.0),
            at_most(1.0),
            times=AT_LEAST_ONCE,
            some=Target((above(0.69),), policy=()),
            why=OPEN_TARGET,
        ),
    ),
)
