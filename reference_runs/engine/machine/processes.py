"""Several ranks on this machine, through torchrun's own launcher."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Sequence

from podium.reference_runs.catalogue import need_torch


def start(processes: int, arguments: Sequence[str]) -> int:
    """Run `python ARGUMENTS` once for each rank and wait; returns the first failure's status.

    When one rank ends badly the others get SIGTERM, so that the log says aborted. Ranks have said
    what was wrong by then: torchrun's own account of it is left out.
    """
    need_torch()
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    # Otherwise each rank starts a thread for every core of the machine
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        rdzv_backend="c10d",
        # Port 0 is any free one, so that runs beside each other do not meet
        rdzv_endpoint="localhost:0",
        run_id=uuid.uuid4().hex,
        # A second attempt would stand in the log of the first
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)(*arguments)
    except ChildFailedError as error:
        _, failure = error.get_first_failure()
        # A death by signal is a negative number, which no exit status can be
        return failure.exitcode if failure.exitcode > 0 else 1
    return 0
