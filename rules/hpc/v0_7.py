"""HPC 0.7: the first round. No verifier exists for it; these rules are the policy's."""

from logging_spec import keys as k
from rules.benchmark import Benchmark, by_name
from rules.checks.catalogue import HPC, binding
from rules.constraints import above, equals, not_empty, one_of
from rules.first_format import TIMED, UNTIL_READY
from rules.hpc.benchmarks.cosmoflow import COSMOFLOW
from rules.hpc.benchmarks.deepcam import REACHED
from rules.order import after
from rules.reasons import OPTIMIZER
from rules.round import Limits, Round
from rules.special import spelt
from rules.table import OPTIONAL, policy_row, row

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
        REACHED,
    ),
    open=(REACHED,),
)

V0_7 = Round(
    usage="hpc",
    name="0.7",
    verified=False,
    limits=Limits(init_closed=20, init_open=20, staging_timed=True),
    checks=binding(HPC),
    common=(
        *UNTIL_READY,
        row(k.STAGING_START, after("run_start"), times=OPTIONAL),
        row(k.STAGING_STOP, after("staging_start"), times=OPTIONAL),
        *TIMED,
        row(k.TRAIN_SAMPLES, not_empty()),
        row(k.EVAL_SAMPLES, not_empty()),
    ),
    closed=(),
    open=(),
    benchmarks=by_name((COSMOFLOW, DEEPCAM)),
)
