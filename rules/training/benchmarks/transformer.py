"""Translation: Transformer big on WMT17 English-German, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, below, equals, one_of
from podium.rules.constraints.members import has, part
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.reasons import SAMPLES
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

TRANSFORMER = Benchmark(
    name="transformer",
    title="Translation: Transformer big on WMT17 English-German",
    runs=10,
    target="BLEU of 25.0",
    comparable=("0.5", "0.7"),
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, one_of("adam", "lazy_adam")),
        row(k.OPT_BASE_LEARNING_RATE, above(0)),
        row(k.OPT_LEARNING_RATE_WARMUP_STEPS, at_least(0)),
        row(k.OPT_ADAM_BETA_1, at_least(0)),
        row(k.OPT_ADAM_BETA_2, at_least(0)),
        row(k.OPT_ADAM_EPSILON, equals(1e-09)),
        policy_row(k.EVAL_SAMPLES, equals(3003), why=SAMPLES, policy_severity=Severity.ERROR),
        row(
            k.MAX_SEQUENCE_LENGTH,
            above(0),
            has("method"),
            part("metadata.method", one_of("truncate", "discard")),
        ),
        # BLEU is logged as a fraction since 0.7
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.25), below(1))
        ),
    ),
    open=(
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.25), below(1))
        ),
    ),
)
