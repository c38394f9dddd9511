"""The drop-in for `mlperf_logging.mllog` under the same name: see `podium.logging_spec.mllog`."""

from podium.logging_spec.mllog import MLLogger, config, get_mllogger, mllogger
from podium.mllog import constants, mllog

__all__ = ["MLLogger", "config", "constants", "get_mllogger", "mllog", "mllogger"]
