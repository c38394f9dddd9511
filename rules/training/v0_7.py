"""Training 0.7: the first round of this log format with a public verifier."""

from logging_spec import keys as k
from rules.benchmark import by_name
from rules.checks.catalogue import ALL
from rules.constraints import not_empty
from rules.first_format import TIMED, UNTIL_READY
from rules.members import has
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
        *UNTIL_READY,
        *TIMED,
        row(k.EVAL_ACCURACY, has("epoch_num"), times=AT_LEAST_ONCE),
        row(k.TRAIN_SAMPLES, not_empty()),
        row(k.EVAL_SAMPLES, not_empty()),
    ),
    closed=(),
    open=(),
    benchmarks=by_name((BERT, DLRM, GNMT, MASKRCNN, MINIGO, RESNET, SSD, TRANSFORMER)),
)
