"""Training 6.0: what changed since 5.1."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_most, below, computes, equals, one_of, whole
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.reasons import OPEN_LOSS, OPEN_TARGET, PRESENCE
from podium.rules.table import AT_LEAST_ONCE, OPTIONAL, Target, row
from podium.rules.training.benchmarks.deepseekv3_671b import DEEPSEEKV3_671B
from podium.rules.training.benchmarks.gpt_oss_20b import GPT_OSS_20B
from podium.rules.training.benchmarks.llama31_405b import WARMUP
from podium.rules.training.shared.precisions import PRECISIONS
from podium.rules.training.v5_1 import V5_1

V6_0 = V5_1.next(
    "6.0",
    package=replace(V5_1.package, unprecedented=True),
    retires=("bert", "retinanet", "rgat"),
    introduces=(DEEPSEEKV3_671B, GPT_OSS_20B),
    common=TableChange(
        add=(
            # Disclosure is optional in this round and required in 6.1
            row(k.LOWEST_NUMERICAL_PRECISION_IN_LINEAR, one_of(*PRECISIONS), times=OPTIONAL),
            row(k.LOWEST_NUMERICAL_PRECISION_IN_ATTN, one_of(*PRECISIONS), times=OPTIONAL),
            row(k.LOWEST_NUMERICAL_PRECISION_IN_COMM, one_of(*PRECISIONS), times=OPTIONAL),
            row(k.TENSOR_PARALLELISM, whole(), times=OPTIONAL),
            row(k.PIPELINE_PARALLELISM, whole(), times=OPTIONAL),
            row(k.CONTEXT_PARALLELISM, whole(), times=OPTIONAL),
            row(k.EXPERT_PARALLELISM, whole(), times=OPTIONAL),
            row(k.MICRO_BATCH_SIZE, whole(), times=OPTIONAL),
            row(k.CONFIG_FILENAME, times=OPTIONAL),
        )
    ),
    amends={
        "llama2_70b_lora": Amend(
            open=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        has("samples_count"),
                        times=AT_LEAST_ONCE,
                        some=Target((below(1.0),), policy=()),
                        why=OPEN_LOSS,
                    ),
                )
            )
        ),
        "llama31_405b": Amend(
            closed=TableChange(
                change=(
                    row(
                        k.OPT_LEARNING_RATE_WARMUP_STEPS,
                        computes(WARMUP),
                        policy=equals(WARMUP),
                        why=PRESENCE,
                        policy_severity=Severity.ERROR,
                    ),
                )
            ),
            open=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        has("samples_count"),
                        times=AT_LEAST_ONCE,
                        some=Target((at_most(5.6), above(0.0)), policy=()),
                        why=OPEN_TARGET,
                    ),
                )
            ),
        ),
        "llama31_8b": Amend(
            open=TableChange(
                change=(
                    row(
                        k.EVAL_ACCURACY,
                        has("samples_count"),
                        times=AT_LEAST_ONCE,
                        some=Target((below(1.0),), policy=()),
                        why=OPEN_LOSS,
                    ),
                )
            )
        ),
    },
)
