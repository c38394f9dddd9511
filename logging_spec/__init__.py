"""The log format: keys, lines, a reader, and an emitter for training programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.logging_spec import mllog
    from podium.logging_spec.emitter.emit import Logger
    from podium.logging_spec.mllog.mllog import MLLogger
    from podium.logging_spec.reader.existing import read_log

__all__ = ["Logger", "MLLogger", "mllog", "read_log"]

_HOMES = {
    "Logger": "podium.logging_spec.emitter.emit",
    "MLLogger": "podium.logging_spec.mllog.mllog",
    "read_log": "podium.logging_spec.reader.existing",
}


def __getattr__(name: str) -> Any:
    # Each part is imported on first access: a training program needs no reader.
    from importlib import import_module

    if name == "mllog":
        return import_module("podium.logging_spec.mllog")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
