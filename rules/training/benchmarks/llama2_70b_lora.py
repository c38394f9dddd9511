"""Language model fine-tuning: Llama 2 70B with LoRA on GovReport, introduced in Training 4.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import one_of_ignoring_case
from podium.rules.constraints.bounds import above, at_most, below, equals, one_of
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import (
    NOT_CHECKED_BY_VERIFIER,
    OPEN_LOSS,
    OPTIMIZER,
    PRESENCE,
    SAMPLES,
)
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

LLAMA2_70B_LORA = Benchmark(
    name="llama2_70b_lora",
    title="Large language model fine-tuning: Llama 2 70B with LoRA on GovReport",
    runs=10,
    target="evaluation loss of 0.925",
    comparable=("4.0", "6.0"),
    also_called=("llama2", "llama2_70b", "llama2_lora", "llama_2_70b", "lora"),
    starts_from_weights=True,
    convergence=replace(IN_SAMPLES, points_unit="samples"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.LORA_ALPHA, policy=equals(32), why=PRESENCE, policy_severity=Severity.ERROR),
        row(k.OPT_LEARNING_RATE_TRAINING_STEPS),
        row(
            k.OPT_GRADIENT_CLIP_NORM,
            policy=equals(0.3),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_ADAMW_WEIGHT_DECAY,
            policy=equals(0.0001),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        # The verifier lists the key without a bound, which cancels the common rule "above 0"
        row(k.GRADIENT_ACCUMULATION_STEPS),
        row(k.LORA_RANK, equals(16)),
        policy_row(
            k.LORA_DROPOUT, equals(0.1), why=NOT_CHECKED_BY_VERIFIER, policy_severity=Severity.ERROR
        ),
        policy_row(
            k.OPT_NAME,
            one_of_ignoring_case(("adamw",)),
            why=OPTIMIZER,
            policy_severity=Severity.ERROR,
        ),
        policy_row(
            k.MAX_SEQUENCE_LENGTH,
            one_of(8192, 8196),
            # Only a warning: the value in the text is a misprint
            why="the policy says 8196, but the data of the reference and every published log have "
            "8192",
        ),
        policy_row(k.TRAIN_SAMPLES, equals(3901), why=SAMPLES, policy_severity=Severity.ERROR),
        policy_row(k.EVAL_SAMPLES, equals(173), why=SAMPLES, policy_severity=Severity.ERROR),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(0.925), above(0.0)),
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=Target((below(1.0),), policy=()),
            # The verifier's open table requires epoch_num, although the closed one has
            # samples_count
            policy=has("samples_count", "epoch_num"),
            why=OPEN_LOSS,
        ),
    ),
)
