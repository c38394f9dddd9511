"""Training 5.1: what changed since 5.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.bounds import at_least, at_most, computes, equals, not_empty
from podium.rules.constraints.formula import as_of, ceil, constant
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.reasons import PRESENCE
from podium.rules.table import row
from podium.rules.training.benchmarks.flux1 import FLUX1
from podium.rules.training.benchmarks.llama31_8b import LLAMA31_8B
from podium.rules.training.benchmarks.llama31_405b import LLAMA31_405B, WARMUP
from podium.rules.training.shared import schedules
from podium.rules.training.v5_0 import V5_0

V5_1 = V5_0.next(
    "5.1",
    limits=replace(V5_0.limits, evaluates=schedules.V5_1),
    # Resubmission of earlier logs replaces software adoption
    package=replace(
        V5_0.package,
        resubmission=True,
        software_updates=False,
        point_precisions=("FP32", "BF16"),
    ),
    retires=("stable_diffusion",),
    introduces=(FLUX1, LLAMA31_8B),
    leaves=("bert",),
    common=TableChange(
        add=(row(k.SUBMISSION_ORG, not_empty()), row(k.SUBMISSION_PLATFORM, not_empty()))
    ),
    amends={
        "llama31_405b": Amend(
            # Converging one evaluation early is an exception of v5.0; the verifier grants it in
            # later rounds as well, so its allowance stays
            convergence=replace(LLAMA31_405B.convergence, allowance=0),
            closed=TableChange(
                change=(
                    row(
                        k.GLOBAL_BATCH_SIZE,
                        policy=(at_least(1152), at_most(9216)),
                        why="the policy requires new reference points for other batch sizes",
                        hint="submit reference runs at this batch size; until then the smallest "
                        "reference point applies below it",
                    ),
                    row(
                        k.OPT_LEARNING_RATE_WARMUP_STEPS,
                        # The verifier compares the decay steps with it, never this value itself
                        computes(WARMUP),
                        policy=equals(WARMUP),
                        why=PRESENCE,
                    ),
                    row(
                        k.OPT_LEARNING_RATE_DECAY_STEPS,
                        equals(
                            ceil(constant(1_200_000) * 1152 / BATCH)
                            - as_of(k.OPT_LEARNING_RATE_WARMUP_STEPS, WARMUP)
                        ),
                    ),
                )
            ),
        )
    },
)
