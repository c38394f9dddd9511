"""Training 0.7: the first round of this log format with a public verifier."""

from logging_spec import keys as k
from rules.benchmark import by_name
from rules.checks.catalogue import ALL
from rules.constraints import above, not_empty, one_of
from rules.members import has, part
from rules.order import after, before, init_within
from rules.round import Limits, Round
from rules.table import AT_LEAST_ONCE, row
from rules.training import schedules
from rules.training.benchmarks.bert import BERT
from rules.training.benchmarks.dlrm import DLRM
from rules.training.benchmarks.gnmt import GNMT
from rules.training.benchmarks.maskrcnn import MASKRCNN
from rules.training.benchmarks.minigo import MINIGO
from rules.training.benchmarks.resnet import RESNET
from rules.training.benchmarks.ssd import SSD
from rules.training.benchmarks.transformer import TRANSFORMER

V0_7 = Round(
    usage="training",
    names_in=("common", "division"),
    name="0.7",
    limits=Limits(init_closed=20, init_open=20, evaluates=schedules.V0_7),
    checks=ALL,
    common=(
        row(k.SUBMISSION_ORG, not_empty()),
        row(k.SUBMISSION_PLATFORM, not_empty()),
        row(k.SUBMISSION_DIVISION, one_of("closed", "open")),
        row(k.SUBMISSION_STATUS, one_of("cloud", "onprem", "preview", "research")),
        row(k.CACHE_CLEAR, times=AT_LEAST_ONCE),
        row(k.INIT_START, before("init_stop"), before("run_start"), times=AT_LEAST_ONCE),
        row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(20)),
        row(k.RUN_START, after("init_stop")),
        row(k.RUN_STOP, after("run_start"), has("status")),
        row(
            k.BLOCK_START,
            after("run_start"),
            has("epoch_count"),
            has("first_epoch_num"),
            part("metadata.epoch_count", above(0)),
            times=AT_LEAST_ONCE.otherwise("epoch_start"),
        ),
        row(k.BLOCK_STOP, has("first_epoch_num"), times=AT_LEAST_ONCE.otherwise("epoch_stop")),
        row(k.EPOCH_START, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_start")),
        row(k.EPOCH_STOP, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_stop")),
        row(k.EVAL_START, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_start")),
        row(k.EVAL_STOP, has("epoch_num"), times=AT_LEAST_ONCE.otherwise("block_stop")),
        row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE),
        row(k.TRAIN_SAMPLES, not_empty()),
        row(k.EVAL_SAMPLES, not_empty()),
    ),
    closed=(),
    open=(),
    benchmarks=by_name((BERT, DLRM, GNMT, MASKRCNN, MINIGO, RESNET, SSD, TRANSFORMER)),
)
