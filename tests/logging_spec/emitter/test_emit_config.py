"""Hyperparameters, disclosures and positions: the arguments of the typed helpers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from podium.logging_spec import keys
from podium.logging_spec.emitter.testing import MemorySink, capture


def said(sink: MemorySink) -> list[tuple[str, Any]]:
    return [(record.key, record.value) for record in sink.records]


@dataclass
class Plain:
    opt_name: str = "adamw"
    global_batch_size: int = 32
    seed: int = 1
    workers: int = 4
    status: str = "no declaration"
    opt_momentum: float | None = None


class Model(pydantic.BaseModel):
    opt_name: str = "adamw"
    global_batch_size: int = 32
    seed: int = 1
    workers: int = 4


@pytest.mark.parametrize(
    "config", [Plain(), Model(), {"opt_name": "adamw", "global_batch_size": 32, "seed": 1, "x": 2}]
)
def test_hyperparameters_are_logged_from_any_kind_of_config(config: object) -> None:
    log, sink = capture()
    logged = log.hyperparameters(config)
    assert logged == ("opt_name", "global_batch_size", "seed")
    assert said(sink) == [("opt_name", "adamw"), ("global_batch_size", 32), ("seed", 1)]


def test_members_of_a_config_can_be_renamed() -> None:
    log, sink = capture()
    log.hyperparameters({"lr": 0.5}, rename={"lr": keys.OPT_BASE_LEARNING_RATE})
    assert said(sink) == [("opt_base_learning_rate", 0.5)]


def test_a_misspelled_member_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    log, sink = capture()
    log.hyperparameters({"opt_adamw_beta1": 0.9})
    assert "opt_adamw_beta_1" in caplog.text
    assert sink.lines == []


def test_a_misspelled_member_is_not_noted_on_other_ranks(caplog: pytest.LogCaptureFixture) -> None:
    log, _ = capture(rank=1)
    log.hyperparameters({"opt_adamw_beta1": 0.9})
    assert caplog.text == ""


def test_a_value_that_is_not_a_config_is_refused() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="int is not a mapping"):
        log.hyperparameters(5)


def test_only_disclosure_keys_are_accepted_as_disclosures() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="tensor_paralelism is not a standard key"):
        log.disclosure(tensor_paralelism=8)
    with pytest.raises(TypeError, match="seed is not a disclosure key"):
        log.disclosure(seed=8)


def test_blocks_and_evaluations_need_a_position() -> None:
    log, _ = capture()
    with pytest.raises(TypeError, match="a block needs"):
        log.block(first_epoch_num=1)
    with pytest.raises(TypeError, match="an evaluation needs"):
        log.evaluation()
