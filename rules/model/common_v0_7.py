"""Rows of the first round of this log format, 0.7, for training and HPC."""

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import above, not_empty, one_of
from podium.rules.constraints.members import has, part
from podium.rules.constraints.order import after, before, init_within
from podium.rules.table import AT_LEAST_ONCE, row

UNTIL_READY = (
    row(k.SUBMISSION_ORG, not_empty()),
    row(k.SUBMISSION_PLATFORM, not_empty()),
    row(k.SUBMISSION_DIVISION, one_of("closed", "open")),
    row(k.SUBMISSION_STATUS, one_of("cloud", "onprem", "preview", "research")),
    # Every node logs one, many without a value: the verifier only requires that there is one
    row(k.CACHE_CLEAR, times=AT_LEAST_ONCE),
    # Every rank may log one: "exactly once" would reject most logs
    row(k.INIT_START, before("init_stop"), before("run_start"), times=AT_LEAST_ONCE),
    row(k.INIT_STOP, after("init_start"), before("run_start"), init_within(20)),
)
"""The submission, and initialization."""

TIMED = (
    row(k.RUN_START, after("init_stop")),
    # The verifier accepts any status since 0.7; a check of the policy tests the word
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
)
"""The timed part, in blocks of epochs or in epochs."""
