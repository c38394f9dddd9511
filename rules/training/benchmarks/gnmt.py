"""Recurrent translation: GNMT on WMT16 English-German, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import at_least, below, equals
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import PRESENCE, SAMPLES
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

GNMT = Benchmark(
    name="gnmt",
    title="Recurrent translation: GNMT on WMT16 English-German",
    runs=10,
    target="BLEU of 24.0",
    comparable=("0.5", "0.7"),
    also_called=("nmt",),
    closed=(
        row(k.GLOBAL_BATCH_SIZE),
        row(k.OPT_BASE_LEARNING_RATE),
        row(k.OPT_LEARNING_RATE_ALT_DECAY_FUNC),
        row(
            k.OPT_LEARNING_RATE_DECAY_FACTOR,
            policy=equals(0.5),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_DECAY_INTERVAL),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            policy=equals(4),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(k.OPT_LEARNING_RATE_REMAIN_STEPS),
        row(k.MAX_SEQUENCE_LENGTH),
        row(k.OPT_LEARNING_RATE_ALT_WARMUP_FUNC),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS),
        policy_row(k.EVAL_SAMPLES, equals(3003), why=SAMPLES, policy_severity=Severity.ERROR),
        # BLEU is logged as a fraction since 0.7
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.24), below(1))
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.24), below(1))
        ),
    ),
)
