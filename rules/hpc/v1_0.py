"""HPC 1.0: the first round of this log format with a public verifier."""

from logging_spec import keys as k
from rules.benchmark import by_name
from rules.constraints import (
    above,
    after,
    at_least,
    before,
    has,
    init_within,
    not_empty,
    one_of,
    part,
)
from rules.hpc.benchmarks.cosmoflow import COSMOFLOW
from rules.hpc.benchmarks.deepcam import DEEPCAM
from rules.hpc.benchmarks.oc20 import OC20
from rules.round import Round
from rules.table import AT_LEAST_ONCE, OPTIONAL, row

V1_0 = Round(
    usage="hpc",
    name="1.0",
    common=(
        row(k.SUBMISSION_ORG, not_empty()),
        row(k.SUBMISSION_PLATFORM, not_empty()),
        row(k.SUBMISSION_DIVISION, one_of("closed", "open")),
        row(k.SUBMISSION_STATUS, one_of("cloud", "onprem", "preview", "research")),
        row(k.CACHE_CLEAR, times=AT_LEAST_ONCE),
        row(k.INIT_START, before("init_stop"), before("run_start"), times=AT_LEAST_ONCE),
        row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(30)),
        row(k.STAGING_START, after("run_start"), times=OPTIONAL),
        row(k.STAGING_STOP, after("staging_start"), times=OPTIONAL),
        row(k.RUN_START, after("init_stop")),
        row(k.RUN_STOP, after("run_start"), has("status")),
        row(
            k.BLOCK_START,
            after("run_start"),
            has("epoch_count"),
            has("first_epoch_num"),
            part("metadata.epoch_count", above(0)),
            times=AT_LEAST_ONCE.otherwise("epoch_start"),
        ),
        row(k.BLOCK_STOP, has("first_epoch_num"), times=AT_LEAST_ONCE.otherwise("epoch_stop")),
        row(k.EPOCH_START, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_start")),
        row(k.EPOCH_STOP, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_stop")),
        row(k.EVAL_START, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_start")),
        row(k.EVAL_STOP, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_stop")),
        row(k.TRAIN_SAMPLES, not_empty()),
        row(k.EVAL_SAMPLES, not_empty()),
    ),
    closed=(
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0), times=OPTIONAL),
        row(k.GRADIENT_ACCUMULATION_FREQUENCY, above(0), times=OPTIONAL),
        row(k.NUMBER_OF_NODES, above(0)),
        row(k.ACCELERATORS_PER_NODE, at_least(0)),
    ),
    open=(),
    benchmarks=by_name(
        (
            COSMOFLOW,
            DEEPCAM,
            OC20,
        )
    ),
)
