"""Text to image: FLUX.1 schnell on CC12M, as introduced in Training 5.1."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.bounds import above, any_of, at_least, at_most, equals
from podium.rules.constraints.formula import ceil
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import SAMPLES, TRAINED
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

FLUX1 = Benchmark(
    name="flux1",
    title="Text to image: FLUX.1 schnell on CC12M",
    also_called=("flux", "flux1_schnell", "flux1_dev", "text_to_image"),
    runs=10,
    target="evaluation loss of 0.586",
    comparable=("5.1", "6.0"),
    starts_from_weights=True,
    convergence=replace(IN_SAMPLES, points_unit="samples"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, at_least(0), times=AT_LEAST_ONCE),
        row(
            k.EVALUATION_FREQUENCY,
            equals(262_144),
            policy=any_of(equals(262_144), equals(ceil(262_144 / BATCH) * BATCH)),
            why="the policy allows evaluations at the end of the batch",
        ),
        policy_row(k.TRAIN_SAMPLES, at_least(262_144), why=TRAINED),
        policy_row(k.EVAL_SAMPLES, equals(29_696), why=SAMPLES, policy_severity=Severity.ERROR),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-08)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(0.586), above(0.0)),
        ),
    ),
    open=(
        row(
            k.AVERAGED_VALIDATION_LOSS,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(0.586), above(0.0)),
            policy_exempt_reason=(
                "closed logs name it eval_accuracy, and the open division has no target"
            ),
        ),
    ),
)
