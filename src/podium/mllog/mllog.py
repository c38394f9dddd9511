"""The class that prints records, at the place where training scripts import it from."""

from podium.logging_spec.mllog.mllog import LOG_TEMPLATE, MLLogger, get_caller

__all__ = ["LOG_TEMPLATE", "MLLogger", "get_caller"]
