"""Text to image: Stable Diffusion v2 on LAION, as introduced in Training 3.1."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import at_least, at_most, equals
from podium.rules.constraints.members import part, value_has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.reasons import SAMPLES
from podium.rules.table import AT_LEAST_ONCE, at_least_times, policy_row, row

STABLE_DIFFUSION = Benchmark(
    name="stable_diffusion",
    title="Text to image: Stable Diffusion v2 on LAION",
    also_called=("stable_diffusion_v2", "stable_diffusion_2", "sdv2", "sd"),
    runs=10,
    target="FID of 90 and CLIP score of 0.15",
    comparable=("3.1", "5.0"),
    starts_from_weights=True,
    convergence=ConvergenceRules(unit="steps"),
    # Two records make one evaluation, and only the step shows which belong together
    gathers="step_num",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, at_least(0), times=AT_LEAST_ONCE),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.999)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-08)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.01)),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        policy_row(k.TRAIN_SAMPLES, equals(6_513_144), why=SAMPLES),
        policy_row(k.EVAL_SAMPLES, equals(30_000), why=SAMPLES, policy_severity=Severity.ERROR),
        row(
            k.AGGREGATED_EVAL_ACCURACY,
            value_has("FID"),
            value_has("CLIP"),
            value_has("step_num"),
            # Most runs evaluate only the last two checkpoints, and the second one passes
            times=at_least_times(2),
            some=(
                part("value.FID", at_least(0.0)),
                part("value.FID", at_most(90.0)),
                part("value.CLIP", at_least(0.15)),
                part("value.CLIP", at_most(1.0)),
            ),
        ),
    ),
    open=(
        row(
            k.AGGREGATED_EVAL_ACCURACY,
            value_has("FID"),
            value_has("CLIP"),
            value_has("step_num"),
            times=at_least_times(2),
            some=(part("value.FID", at_least(0.0)), part("value.CLIP", at_most(1.0))),
        ),
    ),
)
