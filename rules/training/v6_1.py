"""Training 6.1: what changed since 6.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.bounds import (
    above,
    at_least,
    at_most,
    computes,
    equals,
    not_empty,
    one_of,
    whole,
)
from podium.rules.constraints.evaluation_points import first_evaluation
from podium.rules.constraints.formula import as_of, ceil, floor, logged
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.reasons import PRESENCE
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.benchmarks.dlrmv4 import DLRMV4
from podium.rules.training.benchmarks.qwen35_397b_grpo import QWEN35_397B_GRPO
from podium.rules.training.shared import schedules
from podium.rules.training.shared.precisions import MXFP6, PRECISIONS
from podium.rules.training.v6_0 import V6_0

DISCLOSURE = "training rules, v6.1 Specific Rules"

V6_1 = V6_0.next(
    "6.1",
    published=False,
    limits=replace(V6_0.limits, evaluates=schedules.V6_1),
    # Training rules, v6.1 RCP Rules
    package=replace(V6_0.package, points_due_days=7, framework_logs=True),
    retires=("dlrm_dcnv2", "llama31_405b"),
    introduces=(DLRMV4, QWEN35_397B_GRPO),
    common=TableChange(
        change=(
            row(
                k.LOWEST_NUMERICAL_PRECISION_IN_LINEAR, one_of(*PRECISIONS, MXFP6), cites=DISCLOSURE
            ),
            row(k.LOWEST_NUMERICAL_PRECISION_IN_ATTN, one_of(*PRECISIONS, MXFP6), cites=DISCLOSURE),
            row(k.LOWEST_NUMERICAL_PRECISION_IN_COMM, one_of(*PRECISIONS, MXFP6), cites=DISCLOSURE),
            row(k.TENSOR_PARALLELISM, whole(), at_least(1), cites=DISCLOSURE),
            row(k.PIPELINE_PARALLELISM, whole(), at_least(1), cites=DISCLOSURE),
            row(k.CONTEXT_PARALLELISM, whole(), at_least(1), cites=DISCLOSURE),
            row(k.EXPERT_PARALLELISM, whole(), at_least(1), cites=DISCLOSURE),
            row(k.MICRO_BATCH_SIZE, whole(), at_least(1), cites=DISCLOSURE),
            row(k.CONFIG_FILENAME, not_empty(), cites=DISCLOSURE),
        )
    ),
    amends={
        "deepseekv3_671b": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        has("samples_count"),
                        first_evaluation(BATCH * floor(42 + 24_576 / BATCH)),
                        times=AT_LEAST_ONCE,
                        some=(at_most(3.6), above(0.0)),
                    ),
                )
            )
        ),
        # 4e-5 was allowed in 6.0 only (training rules, v6.0 Specific Rules)
        "gpt_oss_20b": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.OPT_END_LEARNING_RATE,
                        policy=equals(0.1 * logged(k.OPT_BASE_LEARNING_RATE)),
                        why=PRESENCE,
                        policy_severity=Severity.ERROR,
                    ),
                )
            )
        ),
        # In this round the verifier, like the policy, rounds the interval up to whole batches
        "flux1": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.GLOBAL_BATCH_SIZE,
                        at_least(0),
                        computes(ceil(262_144 / BATCH) * BATCH),
                        times=AT_LEAST_ONCE,
                    ),
                    row(
                        k.EVALUATION_FREQUENCY,
                        equals(as_of(k.GLOBAL_BATCH_SIZE, ceil(262_144 / BATCH) * BATCH)),
                    ),
                )
            )
        ),
    },
)
