"""Several ranks on this machine, started by torchrun's launcher."""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Sequence

from podium.reference_runs.catalogue import need_torch


def start(processes: int, arguments: Sequence[str]) -> int:
    """Run `python ARGUMENTS` on each rank and wait; returns the exit status of the first failure.

    When one rank fails, the others get SIGTERM, so that the log has the status "aborted". The ranks
    have reported the error by then, so torchrun's report is suppressed.
    """
    need_torch()
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    # Otherwise each rank starts one thread per core of the machine
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        rdzv_backend="c10d",
        # Port 0 selects any free port, so that concurrent runs do not collide
        rdzv_endpoint="localhost:0",
        run_id=uuid.uuid4().hex,
        # A second attempt would write into the log of the first
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)(*arguments)
    except ChildFailedError as error:
        _, failure = error.get_first_failure()
        # Death by a signal is a negative number, which is not a valid exit status
        return failure.exitcode if failure.exitcode > 0 else 1
    return 0
