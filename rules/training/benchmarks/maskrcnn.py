"""Heavy object detection: Mask R-CNN on COCO, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import stretched
from podium.rules.constraints.bounds import (
    above,
    any_of,
    at_least,
    below,
    equals,
    multiple_of,
    one_of,
)
from podium.rules.constraints.data_sets import samples_of
from podium.rules.constraints.members import has, part, value_has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import FIXED, UNITS
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

MASKRCNN = Benchmark(
    name="maskrcnn",
    title="Heavy object detection: Mask R-CNN on COCO",
    runs=5,
    target="box mAP of 0.377 and mask mAP of 0.339",
    comparable=("0.6", "3.1"),
    also_called=("mask", "mask_rcnn"),
    starts_from_weights=True,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(
            k.OPT_BASE_LEARNING_RATE,
            multiple_of(0.02),
            policy=(multiple_of(0.02), above(0)),
            why="the policy's 0.02 * K means K of at least 1",
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(k.OPT_LEARNING_RATE_WARMUP_FACTOR, above(0)),
        row(
            k.NUM_IMAGE_CANDIDATES,
            multiple_of(1000),
            policy=(multiple_of(1000), above(0)),
            why="the policy requires 1000, or 1000 for each image in the batch of a chip",
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_DECAY_FACTOR, equals(0.1)),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            part("len(value)", equals(2)),
            # The reference's steps are for a batch of 16 images
            policy=stretched((60_000, 80_000), 16),
            why="the official verifier only counts the steps",
        ),
        row(
            k.MIN_IMAGE_SIZE,
            at_least(0),
            policy=equals(800),
            why=FIXED,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.MAX_IMAGE_SIZE,
            at_least(0),
            policy=equals(1333),
            why=FIXED,
            policy_severity=Severity.ERROR,
        ),
        # A widely used implementation logs 20000 or 40000, and one evaluation, for all of COCO
        policy_row(
            k.TRAIN_SAMPLES,
            any_of(samples_of((118_287, 117_266), drops=True), one_of(20_000, 40_000)),
            why=UNITS,
        ),
        policy_row(k.EVAL_SAMPLES, any_of(samples_of((5000,)), equals(1)), why=UNITS),
        row(
            k.EVAL_ACCURACY,
            value_has("BBOX"),
            value_has("SEGM"),
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                part("value.BBOX", at_least(0.377)),
                part("value.BBOX", below(1.0)),
                part("value.SEGM", at_least(0.339)),
                part("value.SEGM", below(1.0)),
            ),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            value_has("BBOX"),
            value_has("SEGM"),
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                part("value.BBOX", at_least(0.377)),
                part("value.BBOX", below(1.0)),
                part("value.SEGM", at_least(0.339)),
                part("value.SEGM", below(1.0)),
            ),
        ),
    ),
)
