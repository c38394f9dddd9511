"""Graph node classification: R-GAT on IGBH-Full, as introduced in Training 4.0."""

from logging_spec import keys as k
from rules.benchmark import Benchmark
from rules.constraints import above, at_least, below, equals, has
from rules.table import AT_LEAST_ONCE, row

GNN = Benchmark(
    name="gnn",
    title="Graph node classification: R-GAT on IGBH-Full",
    runs=10,
    closed=(
        row(k.GLOBAL_BATCH_SIZE, above(0)),
        row(k.OPT_NAME, equals("adam")),
        row(k.OPT_BASE_LEARNING_RATE, at_least(0.0)),
        row(
            k.EVAL_ACCURACY,
            has("epoch_num"),
            times=AT_LEAST_ONCE,
            some=(
                at_least(0.72),
                below(1.0),
            ),
        ),
    ),
    open=(row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE, some=(below(1.0),)),),
)
