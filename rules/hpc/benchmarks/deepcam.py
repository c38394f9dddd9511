"""Climate segmentation: DeepCAM on CAM5, as introduced in HPC 1.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, at_most, equals, nearly, one_of, truthy
from podium.rules.constraints.members import has, part
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, Variant
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

REACHED = row(
    k.EVAL_ACCURACY,
    has("epoch_num"),
    times=AT_LEAST_ONCE,
    some=(at_least(0.82), at_most(1.0)),
)
"""The target, in either division."""

DEEPCAM = Benchmark(
    name="deepcam",
    title="Climate segmentation: DeepCAM on CAM5",
    runs=5,
    target="intersection over union of 0.82",
    comparable=("0.7", "1.0"),
    cites="HPC rules, Hyperparameters and Optimizer",
    closed=(
        row(k.GRADIENT_ACCUMULATION_FREQUENCY, above(0)),
        row(k.SEED, above(0)),
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.BATCHNORM_GROUP_SIZE, above(0)),
        row(k.OPT_NAME, one_of("Adam", "AdamW", "LAMB")),
        row(k.OPT_LR, above(0.0)),
        row(k.OPT_BETAS, part("len(value)", equals(2))),
        row(k.OPT_EPS, nearly(1e-06)),
        policy_row(
            k.OPT_WEIGHT_DECAY,
            at_least(0.0),
            why=NOT_CHECKED_BY_VERIFIER,
            policy_severity=Severity.ERROR,
        ),
        row(k.SCHEDULER_TYPE, one_of("multistep", "cosine_annealing")),
        row(k.SCHEDULER_LR_WARMUP_STEPS, at_least(0)),
        row(k.SCHEDULER_LR_WARMUP_FACTOR, at_least(1.0)),
        row(k.TRAIN_SAMPLES, equals(121_266)),
        row(k.EVAL_SAMPLES, equals(15_158)),
        REACHED,
    ),
    open=(REACHED,),
    variants=(
        Variant(
            "lamb",
            k.OPT_NAME,
            "LAMB",
            (
                row(k.OPT_BIAS_CORRECTION, truthy()),
                row(k.OPT_GRAD_AVERAGING, truthy()),
                row(k.OPT_MAX_GRAD_NORM, equals(1.0)),
            ),
            # Adam and AdamW have no separate rules, and the verifier looks for none
            required=False,
        ),
        Variant(
            "multistep",
            k.SCHEDULER_TYPE,
            "multistep",
            (
                row(k.SCHEDULER_MILESTONES, part("len(value)", at_least(0))),
                row(
                    k.SCHEDULER_DECAY_RATE,
                    at_most(1.0),
                    policy=(),
                    why="the policy leaves the factor free",
                ),
            ),
            lower=True,
        ),
        Variant(
            "cosine_annealing",
            k.SCHEDULER_TYPE,
            "cosine_annealing",
            (
                row(
                    k.SCHEDULER_T_MAX,
                    at_least(1.0),
                    policy=at_least(0.0),
                    why="the policy allows 0",
                ),
                row(k.SCHEDULER_ETA_MIN, at_least(0.0)),
            ),
            lower=True,
        ),
    ),
)
