"""Training 1.1: what changed since 1.0."""

from logging_spec import keys as k
from rules.benchmark import Amend, Change
from rules.constraints import has, of_type
from rules.table import AT_LEAST_ONCE, row
from rules.tensors import initialised
from rules.training.v1_0 import V1_0

V1_1 = V1_0.next(
    "1.1",
    amends={
        "bert": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("bert"),
                )
            )
        ),
        "dlrm": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("dlrm"),
                )
            )
        ),
        "maskrcnn": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("maskrcnn"),
                )
            )
        ),
        "minigo": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("minigo"),
                )
            )
        ),
        "resnet": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("resnet"),
                )
            )
        ),
        "rnnt": Amend(closed=Change(change=(row(k.DATA_TRAIN_NUM_BUCKETS, of_type("int")),))),
        "ssd": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("ssd"),
                )
            )
        ),
        "unet3d": Amend(
            closed=Change(
                add=(
                    row(k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE),
                    initialised("unet3d"),
                )
            )
        ),
    },
)
