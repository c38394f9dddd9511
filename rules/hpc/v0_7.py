"""HPC 0.7: the first round. No verifier exists for it; these rules are the policy's."""

from podium.logging_spec import keys as k
from podium.rules.checks.catalogue import HPC, binding
from podium.rules.constraints.benchmark_constraints import one_of_ignoring_case
from podium.rules.constraints.bounds import above, equals, not_empty, one_of
from podium.rules.constraints.order import after
from podium.rules.hpc.benchmarks.cosmoflow import COSMOFLOW
from podium.rules.hpc.benchmarks.deepcam import REACHED
from podium.rules.model.benchmark import Benchmark, by_name
from podium.rules.model.common_v0_7 import TIMED, UNTIL_READY
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.reasons import OPTIMIZER
from podium.rules.model.round import Round
from podium.rules.table import OPTIONAL, policy_row, row

DEEPCAM = Benchmark(
    name="deepcam",
    title="Climate segmentation: DeepCAM on CAM5",
    runs=5,
    target="intersection over union of 0.82",
    comparable=("0.7", "1.0"),
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        policy_row(k.OPT_NAME, one_of_ignoring_case(("adamw", "lamb")), why=OPTIMIZER),
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
    package=PackageRules(
        borrowing=True,
        software_updates=True,
        columns=("cosmoflow", "deepcam", "oc20", "openfold"),
    ),
    limits=Limits(init_closed=20, init_open=20, staging_timed=True),
    # Without a verifier every requirement of the policy is binding
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
