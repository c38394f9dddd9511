"""Drop-in for the official logging module: one shared logger and its settings."""

from __future__ import annotations

import logging
import threading
from typing import Any

from podium.logging_spec.mllog import constants, mllog
from podium.logging_spec.mllog.handlers import AppendingHandler
from podium.logging_spec.mllog.mllog import MLLogger

__all__ = ["MLLogger", "config", "constants", "get_mllogger", "mllog", "mllogger"]

mllogger = MLLogger()
"""The logger that get_mllogger() returns and config() changes."""

_lock = threading.RLock()

_KINDS: dict[str, tuple[type, str]] = {
    "default_namespace": (str, "a string"),
    "default_stack_offset": (int, "a whole number"),
    "default_clear_line": (bool, "True or False"),
    "root_dir": (str, "a string"),
    "logger": (logging.Logger, "a logging.Logger"),
    "filename": (str, "a string"),
}


def get_mllogger() -> MLLogger:
    """The logger that all parts of a program share."""
    return mllogger


def config(**kwargs: Any) -> None:
    """Change settings of the shared logger.

    `default_namespace`, `default_stack_offset`, `default_clear_line` and `root_dir` are the
    parameters of MLLogger; `logger` replaces its logging.Logger; `filename` adds a file to which
    lines are appended. None and other names change nothing.
    """
    settings = {name: kwargs[name] for name in _KINDS if kwargs.get(name) is not None}
    with _lock:
        for name, value in settings.items():
            kind, expected = _KINDS[name]
            if not isinstance(value, kind):
                raise ValueError(f"{name} is a {type(value).__name__}; must be {expected}")
            _apply(name, value)


def _apply(name: str, value: Any) -> None:
    if name == "filename":
        mllogger.logger.addHandler(AppendingHandler(value))
    elif name == "logger" and value.name == mllogger.logger.name:
        raise ValueError(f"logger is named {value.name}, like the current one; must differ")
    else:
        setattr(mllogger, name, value)
