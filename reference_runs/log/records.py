"""The hyperparameter records of a config; importing this imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.logging_spec import keys

if TYPE_CHECKING:
    from podium.logging_spec import Logger
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.setting import Setting


def hyperparameters(log: Logger, config: Config, setting: Setting) -> None:
    """Log the config's records for the round, and the tensors whose initialization it requires."""
    records = {"target_accuracy": config.target, **config.records(setting.round)}
    metadata = config.metadata(setting.round)
    log.hyperparameters({key: value for key, value in records.items() if key not in metadata})
    for key, details in metadata.items():
        log.event(key, records[key], details)
    for tensor in config.weights(setting.round):
        log.event(keys.WEIGHTS_INITIALIZATION, metadata={"tensor": tensor})
