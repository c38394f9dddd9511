"""The constants of the drop-in logger: those of the official library and of the vocabulary."""

from __future__ import annotations

import importlib

from podium.logging_spec import keys
from podium.logging_spec.mllog import constants

their_constants = importlib.import_module("mlperf_logging.mllog.constants")


def test_every_constant_of_the_official_library_is_defined() -> None:
    wanted = {name: value for name, value in vars(their_constants).items() if name[0] != "_"}
    assert {name: getattr(constants, name, None) for name in wanted} == wanted


def test_constants_of_keys_match_the_vocabulary() -> None:
    for name, value in vars(constants).items():
        if name in vars(keys) and name.isupper():
            key = getattr(keys, name)
            assert value == (key if isinstance(key, str) else key.name)
