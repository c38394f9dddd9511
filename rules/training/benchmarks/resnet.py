"""Image classification: ResNet-50 v1.5 on ImageNet, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import fixed_below_batch
from podium.rules.constraints.bounds import (
    above,
    at_least,
    below,
    equals,
    multiple_of,
    one_of,
    power_of_two_times,
    whole,
)
from podium.rules.constraints.data_sets import samples_of
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, Variant
from podium.rules.model.reasons import COUNTED, NOT_CHECKED_BY_VERIFIER, PRESENCE, SAMPLES, UNITS
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

RESNET = Benchmark(
    name="resnet",
    title="Image classification: ResNet-50 v1.5 on ImageNet",
    runs=5,
    target="top-1 accuracy of 75.90 %",
    comparable=("0.6", "4.0"),
    also_called=("resnet50", "resnet50_v15", "rn50", "image_classification"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, one_of("sgd", "lars")),
        policy_row(
            k.EVAL_SAMPLES,
            at_least(50_000),
            why=SAMPLES,
            hint="evaluate on the whole validation set; padding may be counted",
        ),
        policy_row(k.TRAIN_SAMPLES, samples_of((1_281_167,), drops=True), why=UNITS),
        policy_row(
            k.LABEL_SMOOTHING,
            one_of(0.0, 0.1),
            why=NOT_CHECKED_BY_VERIFIER,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.759), below(1.0)),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.759), below(1.0)),
        ),
    ),
    # Each optimizer has a separate rule file; any other name crashes the verifier
    variants=(
        Variant(
            "sgd",
            k.OPT_NAME,
            "sgd",
            (
                row(k.SGD_OPT_BASE_LEARNING_RATE, multiple_of(0.001)),
                row(k.SGD_OPT_END_LEARNING_RATE, equals(0.0001)),
                row(
                    k.SGD_OPT_LEARNING_RATE_DECAY_POLY_POWER,
                    policy=equals(2),
                    why=PRESENCE,
                    policy_severity=Severity.ERROR,
                ),
                row(
                    k.SGD_OPT_LEARNING_RATE_DECAY_STEPS,
                    policy=(whole(), at_least(0)),
                    why=PRESENCE,
                    policy_severity=Severity.ERROR,
                ),
                row(k.SGD_OPT_WEIGHT_DECAY, power_of_two_times(0.0001)),
                row(
                    k.SGD_OPT_MOMENTUM,
                    policy=equals(0.9),
                    why=PRESENCE,
                    policy_severity=Severity.ERROR,
                ),
                row(k.MODEL_BN_SPAN),
                row(
                    k.OPT_LEARNING_RATE_WARMUP_EPOCHS,
                    policy=(whole(), at_least(0)),
                    why=PRESENCE,
                    policy_severity=Severity.ERROR,
                ),
            ),
        ),
        Variant(
            "lars",
            k.OPT_NAME,
            "lars",
            (
                row(k.LARS_OPT_BASE_LEARNING_RATE),
                row(k.LARS_OPT_END_LEARNING_RATE, equals(0.0001)),
                row(k.LARS_OPT_LEARNING_RATE_DECAY_POLY_POWER, equals(2)),
                row(
                    k.LARS_OPT_LEARNING_RATE_DECAY_STEPS,
                    policy=(whole(), at_least(0)),
                    why=COUNTED,
                    policy_severity=Severity.NOTE,
                ),
                row(k.LARS_EPSILON, equals(0.0)),
                row(
                    k.LARS_OPT_LEARNING_RATE_WARMUP_EPOCHS,
                    policy=(whole(), at_least(0)),
                    why=COUNTED,
                    policy_severity=Severity.NOTE,
                ),
                row(k.LARS_OPT_MOMENTUM, policy=fixed_below_batch(0.9, 32_768), why=PRESENCE),
                row(k.LARS_OPT_WEIGHT_DECAY, power_of_two_times(0.0001)),
            ),
        ),
    ),
)
