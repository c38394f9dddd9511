"""Drop-in for the logging module of training scripts: one shared logger and its settings."""

from __future__ import annotations

import logging
import threading
from typing import Any

from podium.logging_spec.mllog import constants, mllog
from podium.logging_spec.mllog.handlers import AppendingHandler
from podium.logging_spec.mllog.mllog import MLLogger

__all__ = ["MLLogger", "config", "constants", "get_mllogger", "mllog", "mllogger"]

mllogger = MLLogger()
"""The logger that get_mllogger() gives and config() changes."""

_lock = threading.RLock()

_KINDS: dict[str, tuple[type, str]] = {
    "default_namespace": (str, "a text"),
    "default_stack_offset": (int, "a whole number"),
    "default_clear_line": (bool, "True or False"),
    "root_dir": (str, "a text"),
    "logger": (logging.Logger, "a logging.Logger"),
    "filename": (str, "a text"),
}


def get_mllogger() -> MLLogger:
    """The logger all parts of a program share."""
    return mllogger


def config(**kwargs: Any) -> None:
    """Change settings of the shared logger.

    `default_namespace`, `default_stack_offset`, `default_clear_line` and `root_dir` are those of
    MLLogger; `logger` takes the place of its logging.Logger; `filename` adds a file that lines are
    appended to. What is None or not named here changes nothing.
    """
    given = {name: kwargs[name] for name in _KINDS if kwargs.get(name) is not None}
    with _lock:
        for name, value in given.items():
            kind, wanted = _KINDS[name]
            if not isinstance(value, kind):
                raise ValueError(f"{name} is a {type(value).__name__}; must be {wanted}")
            _apply(name, value)


def _apply(name: str, value: Any) -> None:
    if name == "filename":
        mllogger.logger.addHandler(AppendingHandler(value))
    elif name == "logger" and value.name == mllogger.logger.name:
        raise ValueError(f"logger is named {value.name}, as the current one; must be another")
    else:
        setattr(mllogger, name, value)
