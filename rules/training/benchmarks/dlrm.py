"""Recommendation: DLRM on Criteo 1TB, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import at_least, below, equals, one_of
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.reasons import SAMPLES, TRAINED
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

DLRM = Benchmark(
    name="dlrm",
    title="Recommendation: DLRM on Criteo 1TB",
    runs=5,
    target="AUC of 0.8025",
    comparable=("0.7", "2.1"),
    # The verifier's table of required runs lacks it, which ends in a KeyError
    convergence=ConvergenceRules(crashes_verifier=True),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.LR_DECAY_START_STEPS),
        row(k.SGD_OPT_BASE_LEARNING_RATE),
        row(k.SGD_OPT_LEARNING_RATE_DECAY_POLY_POWER, equals(2)),
        row(k.SGD_OPT_LEARNING_RATE_DECAY_STEPS),
        # The first evaluation is after a twentieth of an epoch
        policy_row(k.TRAIN_SAMPLES, at_least(209_759_884), why=TRAINED),
        policy_row(k.EVAL_SAMPLES, one_of(89_137_319, 89_137_318), why=SAMPLES),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.8025), below(1.0)),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.8025), below(1.0)),
        ),
    ),
)
