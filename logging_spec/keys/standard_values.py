"""Values that rules compare with: event types, statuses, divisions, categories, optimizers."""

from __future__ import annotations

from typing import Final

INTERVAL_START: Final = "INTERVAL_START"
INTERVAL_END: Final = "INTERVAL_END"
POINT_IN_TIME: Final = "POINT_IN_TIME"
EVENT_TYPES: Final = (INTERVAL_START, INTERVAL_END, POINT_IN_TIME)

SUCCESS: Final = "success"
ABORTED: Final = "aborted"
STATUSES: Final = (SUCCESS, ABORTED)

CLOSED: Final = "closed"
OPEN: Final = "open"
DIVISIONS: Final = (CLOSED, OPEN)

ONPREM: Final = "onprem"
CLOUD: Final = "cloud"
RESEARCH: Final = "research"
# The rules accept it from 0.7 on, but the official list of constants lacks it
PREVIEW: Final = "preview"
AVAILABILITIES: Final = (ONPREM, CLOUD, RESEARCH, PREVIEW)

ADAGRAD: Final = "adagrad"
ADAM: Final = "adam"
ADAMW: Final = "adamw"
LARS: Final = "lars"
LAZY_ADAM: Final = "lazy_adam"
SGD: Final = "sgd"
LAMB: Final = "lamb"
OPTIMIZERS: Final = (ADAGRAD, ADAM, ADAMW, LARS, LAZY_ADAM, SGD, LAMB)
