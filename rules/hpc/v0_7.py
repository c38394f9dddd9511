"""HPC 0.7: the first round. No verifier exists for it; these rules are the policy's."""

from logging_spec import keys as k
from rules.benchmark import Benchmark, by_name
from rules.checks.catalogue import HPC, binding
from rules.constraints import above, at_least, at_most, equals, not_empty, one_of
from rules.hpc.benchmarks.cosmoflow import COSMOFLOW
from rules.members import has, part
from rules.order import after, before, init_within
from rules.reasons import OPTIMIZER
from rules.round import Limits, Round
from rules.special import spelt
from rules.table import AT_LEAST_ONCE, OPTIONAL, policy_row, row

DEEPCAM = Benchmark(
    name="deepcam",
    title="Climate segmentation: DeepCAM on CAM5",
    runs=5,
    target="intersection over union of 0.82",
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        policy_row(k.OPT_NAME, spelt(("adamw", "lamb")), why=OPTIMIZER),
        policy_row(k.OPT_ADAM_EPSILON, one_of(1e-6, 1e-8)),
        policy_row(k.OPT_EPS, one_of(1e-6, 1e-8)),
        policy_row(k.OPT_WEIGHT_DECAY, equals(0.01)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.82), at_most(1.0)),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.82), at_most(1.0)),
        ),
    ),
)

V0_7 = Round(
    usage="hpc",
    name="0.7",
    verified=False,
    limits=Limits(init_closed=20, init_open=20, staging_timed=True),
    checks=binding(HPC),
    common=(
        row(k.SUBMISSION_ORG, not_empty()),
        row(k.SUBMISSION_PLATFORM, not_empty()),
        row(k.SUBMISSION_DIVISION, one_of("closed", "open")),
        row(k.SUBMISSION_STATUS, one_of("cloud", "onprem", "preview", "research")),
        row(k.CACHE_CLEAR, times=AT_LEAST_ONCE),
        row(k.INIT_START, before("init_stop"), before("run_start"), times=AT_LEAST_ONCE),
        row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(20)),
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
    closed=(),
    open=(),
    benchmarks=by_name((COSMOFLOW, DEEPCAM)),
)
