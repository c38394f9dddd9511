"""Small language model pretraining: Llama 3.1 8B on C4, as introduced in Training 5.1."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, at_most, below, equals
from podium.rules.constraints.formula import logged
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import IN_SAMPLES, Benchmark
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER, OPEN_LOSS, PRESENCE, TRAINED
from podium.rules.table import AT_LEAST_ONCE, Target, policy_row, row

LLAMA31_8B = Benchmark(
    name="llama31_8b",
    title="Small language model pretraining: Llama 3.1 8B on C4",
    runs=10,
    target="log perplexity of 3.3",
    comparable=("5.1", "6.0"),
    also_called=("llama3", "llama31", "llama3_8b", "llama_8b", "small_llm_pretraining"),
    starts_from_weights=True,
    convergence=IN_SAMPLES,
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.MAX_SEQUENCE_LENGTH, equals(8192)),
        row(k.OPT_NAME, equals("adamw")),
        row(k.OPT_BASE_LEARNING_RATE),
        row(
            k.OPT_END_LEARNING_RATE,
            policy=equals(0.1 * logged(k.OPT_BASE_LEARNING_RATE)),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        policy_row(
            k.DROPOUT, equals(0.0), why=NOT_CHECKED_BY_VERIFIER, policy_severity=Severity.ERROR
        ),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            equals(1_200_000 - logged(k.OPT_LEARNING_RATE_WARMUP_STEPS)),
        ),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAMW_BETA_1, equals(0.9)),
        row(k.OPT_ADAMW_BETA_2, equals(0.95)),
        row(k.OPT_ADAMW_EPSILON, equals(1e-05)),
        row(k.OPT_ADAMW_WEIGHT_DECAY, equals(0.1)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        policy_row(k.TRAIN_SAMPLES, at_least(12_288), why=TRAINED),
        row(k.EVAL_SAMPLES, equals(1024)),
        row(
            k.EVAL_ACCURACY,
            has("samples_count"),
            times=AT_LEAST_ONCE,
            some=(at_most(3.3), above(0.0)),
        ),
        row(k.MAX_STEPS, equals(1_200_000)),
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
