"""Recommendation: DLRM with DCNv2 on Criteo multi-hot, as introduced in Training 3.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import at_least, at_most, equals
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import SAMPLES
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

DLRM_DCNV2 = Benchmark(
    name="dlrm_dcnv2",
    title="Recommendation: DLRM with DCNv2 on Criteo multi-hot",
    runs=10,
    target="AUC of 0.80275",
    comparable=("3.0", "6.0"),
    also_called=("dlrm", "dlrmv2", "dlrm_v2_dcnv2", "dcnv2", "torchrec_dlrm"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_NAME, equals("adagrad")),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_ADAGRAD_LEARNING_RATE_DECAY, equals(0)),
        row(k.OPT_WEIGHT_DECAY, equals(0)),
        row(k.OPT_ADAGRAD_INITIAL_ACCUMULATOR_VALUE, equals(0)),
        row(k.OPT_ADAGRAD_EPSILON, equals(1e-08)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, equals(0)),
        row(k.OPT_LEARNING_RATE_DECAY_START_STEP, equals(0)),
        row(k.OPT_LEARNING_RATE_DECAY_STEPS, equals(0)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.80275), at_most(1.0)),
        ),
        row(k.EVAL_SAMPLES, equals(89_137_319)),
        policy_row(k.TRAIN_SAMPLES, equals(4_195_197_692), why=SAMPLES),
    ),
    open=(row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(1.0),)),),
)
