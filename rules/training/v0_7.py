"""Training 0.7: the first round of this log format with a public verifier."""

from podium.logging_spec import keys as k
from podium.rules.checks.catalogue import ALL
from podium.rules.constraints.bounds import not_empty
from podium.rules.constraints.members import has
from podium.rules.model.benchmark import by_name
from podium.rules.model.common_v0_7 import TIMED, UNTIL_READY
from podium.rules.model.limits import Limits
from podium.rules.model.package_rules import PackageRules
from podium.rules.model.round import Round
from podium.rules.table import AT_LEAST_ONCE, row
from podium.rules.training.benchmarks.bert import BERT
from podium.rules.training.benchmarks.dlrm import DLRM
from podium.rules.training.benchmarks.gnmt import GNMT
from podium.rules.training.benchmarks.maskrcnn import MASKRCNN
from podium.rules.training.benchmarks.minigo import MINIGO
from podium.rules.training.benchmarks.resnet import RESNET
from podium.rules.training.benchmarks.ssd import SSD
from podium.rules.training.benchmarks.transformer import TRANSFORMER
from podium.rules.training.shared import schedules
from podium.rules.training.shared.columns import COLUMNS

V0_7 = Round(
    usage="training",
    # The verifier lists the names in both tables here, from 1.0 on only in the division's table
    names_in=("common", "division"),
    name="0.7",
    limits=Limits(init_closed=20, init_open=20, evaluates=schedules.V0_7),
    package=PackageRules(borrowing=True, software_updates=True, columns=COLUMNS),
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
