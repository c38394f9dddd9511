"""Training 1.1: what changed since 1.0."""

from msgspec.structs import replace

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import of_type
from podium.rules.model.benchmark import Amend, TableChange
from podium.rules.model.limits import Limits
from podium.rules.table import row
from podium.rules.training.shared import schedules
from podium.rules.training.shared.tensors import NAMED_TENSOR, initialised
from podium.rules.training.v1_0 import V1_0

V1_1 = V1_0.next(
    "1.1",
    # The policy returns to 20 minutes, while the verifier's rule for init_stop stays at 30
    limits=Limits(init_closed=20, init_open=20, evaluates=schedules.V1_1),
    package=replace(V1_0.package, median_window=True),
    amends={
        "bert": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("bert")))),
        "dlrm": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("dlrm")))),
        "maskrcnn": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("maskrcnn")))),
        "minigo": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("minigo")))),
        "resnet": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("resnet")))),
        # RNN-T lists its tensors since 1.0; the number of buckets is free from here on
        "rnnt": Amend(
            comparable=("1.1", "3.1"),
            closed=TableChange(change=(row(k.DATA_TRAIN_NUM_BUCKETS, of_type("int")),)),
        ),
        "ssd": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("ssd")))),
        "unet3d": Amend(closed=TableChange(add=(NAMED_TENSOR, initialised("unet3d")))),
    },
)
