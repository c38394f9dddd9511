"""Large language model pretraining: GPT-3 175B on C4, as introduced in Training 3.0."""

from podium.logging_spec import keys as k
from podium.rules.constraints.benchmark_constraints import BATCH, by_batch_size
from podium.rules.constraints.bounds import above, any_of, at_least, at_most, equals, one_of
from podium.rules.constraints.formula import ceil, constant, logged
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.reasons import NOT_CHECKED_BY_VERIFIER, PRESENCE, SAMPLES, TRAINED
from podium.rules.table import AT_LEAST_ONCE, policy_row, row

GPT3 = Benchmark(
    name="gpt3",
    title="Large language model pretraining: GPT-3 175B on C4",
    also_called=("gpt3_175b", "gpt"),
    runs=3,
    target="log perplexity of 2.69",
    comparable=("3.0", "4.1"),
    borrowable=False,
    starts_from_weights=True,
    # epoch_num counts tokens in logs of this benchmark
    convergence=ConvergenceRules(unit="tokens"),
    closed=(
        row(
            k.GLOBAL_BATCH_SIZE,
            policy=(at_least(1536), at_most(8192)),
            why="the policy has no learning rate for other batch sizes",
        ),
        row(k.MAX_SEQUENCE_LENGTH, equals(2048)),
        row(k.OPT_NAME, equals("adam")),
        row(
            k.OPT_BASE_LEARNING_RATE,
            any_of(equals(2e-05), equals(3e-05)),
            policy=by_batch_size(
                ((1536, 3072, (2e-05,)), (3073, 4095, (2e-05, 3e-05)), (4096, 8192, (3e-05,)))
            ),
            why="the official verifier accepts either rate with any batch size",
            policy_severity=Severity.ERROR,
        ),
        row(
            k.OPT_END_LEARNING_RATE,
            policy=equals(0.1 * logged(k.OPT_BASE_LEARNING_RATE)),
            why=PRESENCE,
            hint="log the rate itself, a tenth of opt_base_learning_rate, not the ratio",
        ),
        row(
            k.OPT_LEARNING_RATE_DECAY_STEPS,
            policy=equals(ceil(constant(108_600) * 1536 / BATCH)),
            why=PRESENCE,
        ),
        row(
            k.OPT_LEARNING_RATE_WARMUP_STEPS,
            policy=equals(ceil(constant(265) * 1536 / BATCH)),
            why=PRESENCE,
        ),
        policy_row(
            k.OPT_WEIGHT_DECAY,
            equals(0.1),
            why=NOT_CHECKED_BY_VERIFIER,
            policy_severity=Severity.ERROR,
        ),
        policy_row(
            k.DROPOUT, equals(0.0), why=NOT_CHECKED_BY_VERIFIER, policy_severity=Severity.ERROR
        ),
        row(k.OPT_LEARNING_RATE_DECAY_SCHEDULE, equals("cosine with linear warmup")),
        row(k.OPT_ADAM_BETA_1, equals(0.9)),
        row(k.OPT_ADAM_BETA_2, equals(0.95)),
        row(k.OPT_ADAM_EPSILON, equals(1e-08)),
        row(k.OPT_GRADIENT_CLIP_NORM, equals(1.0)),
        row(k.GRADIENT_ACCUMULATION_STEPS, above(0)),
        row(
            k.EVAL_SAMPLES,
            # The size of the validation set, not a typo of 24576, the sequences between evaluations
            policy=one_of(24_567, 11_590_004),
            why=SAMPLES,
            hint="evaluate on the 24567 sequences of the reference (11590004 unpadded tokens)",
            policy_severity=Severity.ERROR,
        ),
        policy_row(k.TRAIN_SAMPLES, at_least(24_576), why=TRAINED),
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_most(2.69), above(2.6))
        ),
        row(
            k.INIT_CHECKPOINT_STEP,
            above(0),
            policy=equals(ceil(constant(4000) * 1536 / BATCH)),
            why="the official verifier accepts any step above 0",
            policy_severity=Severity.ERROR,
        ),
    ),
    # The verifier has no rule file for open gpt3 before 4.0
    open=None,
)
