"""Language model: BERT-large on Wikipedia, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import (
    each_item,
    one_of_ignoring_case,
    relaxed_target,
)
from podium.rules.constraints.bounds import at_least, below
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.reasons import OPTIMIZER, SAMPLES, TRAINED
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

BERT = Benchmark(
    name="bert",
    title="Language model: BERT-large on Wikipedia",
    also_called=("bert_large", "language_model"),
    runs=10,
    target="masked-token accuracy of 0.712",
    starts_from_weights=True,
    # epoch_num counts samples in logs of this benchmark
    convergence=ConvergenceRules(unit="samples", in_train_samples=True),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_EPSILON),
        row(k.OPT_LEARNING_RATE_TRAINING_STEPS),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(k.NUM_WARMUP_STEPS),
        row(k.START_WARMUP_STEP),
        row(k.OPT_LAMB_BETA_1),
        row(k.OPT_LAMB_BETA_2),
        row(k.OPT_LAMB_WEIGHT_DECAY_RATE),
        policy_row(
            k.OPT_NAME,
            one_of_ignoring_case(("lamb",)),
            why=OPTIMIZER,
            policy_severity=Severity.ERROR,
        ),
        # Some logs put the number in a list
        policy_row(k.TRAIN_SAMPLES, each_item((at_least(150_000),)), why=TRAINED),
        policy_row(k.EVAL_SAMPLES, at_least(10_000), why=SAMPLES),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=Target(
                (relaxed_target(0.712, 0.706, 8192), below(1.0)),
                policy=(at_least(0.712), below(1.0)),
            ),
            why="the policy has no lower target for large batches",
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(at_least(0.712), below(1.0)),
        ),
    ),
)
