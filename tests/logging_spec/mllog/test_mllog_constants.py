"""The constants of the drop-in: the incumbent's, and those of the vocabulary."""

from __future__ import annotations

import importlib

from podium.logging_spec import keys
from podium.logging_spec.mllog import constants

their_constants = importlib.import_module("mlperf_logging.mllog.constants")


def test_every_constant_of_the_incumbent_is_there() -> None:
    wanted = {name: value for name, value in vars(their_constants).items() if name[0] != "_"}
    assert {name: getattr(constants, name, None) for name in wanted} == wanted


def test_constants_of_keys_are_in_the_vocabulary() -> None:
    for name, value in vars(constants).items():
        if name in vars(keys) and name.isupper():
            key = getattr(keys, name)
            assert value == (key if isinstance(key, str) else key.name)
