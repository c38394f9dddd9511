"""Reinforcement learning: MiniGo, as introduced in Training 0.7."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, at_least, below, equals, whole
from podium.rules.constraints.members import has
from podium.rules.finding import Severity
from podium.rules.model.benchmark import Benchmark, ConvergenceRules
from podium.rules.model.reasons import PRESENCE
from podium.rules.table import AT_LEAST_ONCE, OPTIONAL, row

MINIGO = Benchmark(
    name="minigo",
    title="Reinforcement learning: MiniGo",
    runs=10,
    target="win rate of 50 % against the checkpoint",
    comparable=("0.5", "2.1"),
    # The policy exempts it (training rules, RCP Rules)
    convergence=ConvergenceRules(tested=False),
    closed=(
        row(
            k.TRAIN_BATCH_SIZE,
            policy=(whole(), above(0)),
            why=PRESENCE,
            policy_severity=Severity.ERROR,
        ),
        row(k.LR_BOUNDARIES),
        row(k.LR_RATES),
        row(k.ACTUAL_SELFPLAY_GAMES_PER_GENERATION, at_least(8192), times=AT_LEAST_ONCE),
        row(k.MIN_SELFPLAY_GAMES_PER_GENERATION, equals(8192)),
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.5), below(1.0))
        ),
        # Rows that only cancel rows of the common scope: the last row that lists a key decides
        row(k.BLOCK_START, times=OPTIONAL),
        row(k.BLOCK_STOP, times=OPTIONAL),
        row(k.TRAIN_SAMPLES, times=OPTIONAL),
        row(k.EVAL_SAMPLES, times=OPTIONAL),
    ),
    open=(
        row(
            k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(at_least(0.5), below(1.0))
        ),
    ),
)
