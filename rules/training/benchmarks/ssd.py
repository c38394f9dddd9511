"""Light object detection: SSD with ResNet-34 on COCO, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import second_boundary, stretched
from podium.rules.constraints.bounds import at_least, below, one_of, whole
from podium.rules.constraints.data_sets import samples_of
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import UNITS, WHOLE
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

SSD = Benchmark(
    name="ssd",
    title="Light object detection: SSD with ResNet-34 on COCO",
    runs=5,
    target="23.0 % mAP",
    comparable=("0.6", "1.1"),
    also_called=("ssd300",),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(
            k.MODEL_BN_SPAN,
            at_least(1),
            policy=(whole(), at_least(1)),
            why=WHOLE,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_LEARNING_RATE_WARMUP_FACTOR, at_least(0), policy=(whole(), at_least(0)), why=WHOLE
        ),
        row(
            k.OPT_LEARNING_RATE_WARMUP_STEPS,
            at_least(1),
            policy=(whole(), at_least(1)),
            why=WHOLE,
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_WEIGHT_DECAY),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.MAX_SAMPLES, one_of(1, 50)),
        row(
            k.OPT_LEARNING_RATE_DECAY_BOUNDARY_EPOCHS,
            second_boundary(),
            policy=stretched((40, 50)),
            why="the official verifier checks only the second boundary",
        ),
        # COCO has images without objects, which some submitters leave out
        policy_row(k.TRAIN_SAMPLES, samples_of((118_287, 117_266), drops=True), why=UNITS),
        policy_row(k.EVAL_SAMPLES, samples_of((5000, 4952)), why=UNITS),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.23), below(1.0)),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.23), below(1.0)),
        ),
    ),
)
