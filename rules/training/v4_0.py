"""Training 4.0: what changed since 3.1."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, any_of, at_least, at_most, equals
from podium.rules.constraints.members import has, if_given, part, value_has
from podium.rules.constraints.order import after
from podium.rules.model.benchmark import Amend, ConvergenceRules, TableChange
from podium.rules.model.reasons import OPEN_FREE, OPEN_TARGET
from podium.rules.table import AT_LEAST_ONCE, Target, at_least_times, row
from podium.rules.training.benchmarks.gnn import GNN
from podium.rules.training.benchmarks.llama2_70b_lora import LLAMA2_70B_LORA
from podium.rules.training.v3_1 import V3_1

V4_0 = V3_1.next(
    "4.0",
    package=replace(V3_1.package, one_division=True),
    retires=("dlrm", "maskrcnn", "minigo", "rnnt"),
    introduces=(GNN, LLAMA2_70B_LORA),
    # The verifier's list still has both, without rule files: their logs crash it. Its open list
    # lacks a benchmark that has an open rule file: its logs always fail.
    listed_without_rules=("maskrcnn", "rnnt"),
    omitted_from_open_list=("llama2_70b_lora",),
    common=TableChange(
        change=(
            row(
                k.BLOCK_START,
                after("run_start"),
                has("epoch_count", "samples_count"),
                if_given("epoch_count", has("first_epoch_num")),
                if_given("epoch_count", part("metadata.epoch_count", above(0))),
                if_given("samples_count", part("metadata.samples_count", at_least(0))),
                times=AT_LEAST_ONCE.otherwise("epoch_start"),
            ),
            row(
                k.BLOCK_STOP,
                has("first_epoch_num", "samples_count"),
                times=AT_LEAST_ONCE.otherwise("epoch_stop"),
            ),
            row(
                k.EVAL_START,
                has("epoch_num", "samples_count"),
                times=AT_LEAST_ONCE.otherwise("block_start"),
            ),
            row(
                k.EVAL_STOP,
                has("epoch_num", "samples_count"),
                times=AT_LEAST_ONCE.otherwise("block_stop"),
            ),
            row(k.EVAL_ACCURACY, has("epoch_num", "samples_count"), times=AT_LEAST_ONCE),
        )
    ),
    amends={
        # The first rule file for open gpt3: it repeats the values of the closed one
        "gpt3": Amend(
            open=TableChange(
                add=(
                    row(k.GLOBAL_BATCH_SIZE),
                    row(k.MAX_SEQUENCE_LENGTH, equals(2048), policy_exempt_reason=OPEN_FREE),
                    row(k.OPT_NAME, equals("adam"), policy_exempt_reason=OPEN_FREE),
                    row(
                        k.OPT_BASE_LEARNING_RATE,
                        any_of(equals(2e-05), equals(3e-05)),
                        policy_exempt_reason=OPEN_FREE,
                    ),
                    row(k.OPT_END_LEARNING_RATE),
                    row(k.OPT_LEARNING_RATE_DECAY_STEPS),
                    row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
                    row(
                        k.OPT_LEARNING_RATE_DECAY_SCHEDULE,
                        equals("cosine with linear warmup"),
                        policy_exempt_reason=OPEN_FREE,
                    ),
                    row(k.OPT_ADAM_BETA_1, equals(0.9), policy_exempt_reason=OPEN_FREE),
                    row(k.OPT_ADAM_BETA_2, equals(0.95), policy_exempt_reason=OPEN_FREE),
                    row(k.OPT_ADAM_EPSILON, equals(1e-08), policy_exempt_reason=OPEN_FREE),
                    row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0), policy_exempt_reason=OPEN_FREE),
                    row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
                    row(k.EVAL_SAMPLES),
                    row(
                        k.EVAL_ACCURACY,
                        has("epoch_num"),
                        times=AT_LEAST_ONCE,
                        some=Target((at_most(2.69), above(2.6)), policy=()),
                        why=OPEN_TARGET,
                    ),
                    row(k.INIT_CHECKPOINT_STEP, above(0), policy_exempt_reason=OPEN_FREE),
                )
            )
        ),
        "stable_diffusion": Amend(
            gathers="samples_count",
            convergence=ConvergenceRules(unit="samples"),
            closed=TableChange(
                change=(
                    row(
                        k.AGGREGATED_EVAL_ACCURACY,
                        value_has("FID"),
                        value_has("CLIP"),
                        value_has("samples_count"),
                        times=at_least_times(2),
                        some=(
                            part("value.FID", at_least(0.0)),
                            part("value.FID", at_most(90.0)),
                            part("value.CLIP", at_least(0.15)),
                            part("value.CLIP", at_most(1.0)),
                        ),
                    ),
                )
            ),
            open=TableChange(
                change=(
                    row(
                        k.AGGREGATED_EVAL_ACCURACY,
                        value_has("FID"),
                        value_has("CLIP"),
                        value_has("samples_count"),
                        times=at_least_times(2),
                        some=(part("value.FID", at_least(0.0)), part("value.CLIP", at_most(1.0))),
                    ),
                )
            ),
        ),
    },
)
