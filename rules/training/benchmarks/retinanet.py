"""Light object detection: RetinaNet on OpenImages, as introduced in Training 2.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import at_least, below, equals, whole
from podium.rules.constraints.data_sets import samples_of
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import UNITS, WHOLE
from podium.rules.table import AT_LEAST_ONCE, policy_row, row
from podium.rules.training.shared.tensors import NAMED_TENSOR, initialised

RETINANET = Benchmark(
    name="retinanet",
    title="Light object detection: RetinaNet on OpenImages",
    runs=5,
    target="34.0 % mAP",
    comparable=("2.0", "5.1"),
    compared_as="retinanet",
    # It has this name from 2.0 to 4.1
    also_called=("ssd", "ssd_retinanet", "single_stage_detector"),
    closed=(
        NAMED_TENSOR,
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_NAME, equals("adam")),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(k.OPT_WEIGHT_DECAY, equals(0.0)),
        row(
            k.OPT_LEARNING_RATE_WARMUP_EPOCHS,
            at_least(0.0),
            policy=(whole(), at_least(0)),
            why=WHOLE,
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0.0)),
        policy_row(k.TRAIN_SAMPLES, samples_of((1_170_301,), drops=True), why=UNITS),
        policy_row(k.EVAL_SAMPLES, samples_of((24_781,)), why=UNITS),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.34), below(1.0)),
        ),
        initialised("retinanet"),
    ),
    open=(row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),),
)
