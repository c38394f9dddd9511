"""A script for the official logging package with a changed import.

Before: `from mlperf_logging import mllog`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from podium import mllog


def main(path: str) -> None:
    """Log the start and end of a run to standard output and to a file."""
    constants = mllog.constants
    mllog.config(
        filename=path,
        default_namespace="worker0",
        root_dir=str(Path(__file__).resolve().parent),
    )
    logger = mllog.get_mllogger()
    logger.event(key=constants.SUBMISSION_BENCHMARK, value=constants.LLAMA31_8B)
    logger.start(key=constants.INIT_START)
    logger.end(key=constants.INIT_STOP)
    logger.start(key=constants.RUN_START)
    logger.event(
        key=constants.EVAL_ACCURACY, value=3.29, metadata={constants.SAMPLES_COUNT: 12_288}
    )
    logger.end(key=constants.RUN_STOP, metadata={constants.STATUS: constants.SUCCESS})


if __name__ == "__main__":
    main(sys.argv[1])
