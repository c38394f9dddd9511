"""The vocabulary: complete, consistent, and with suggestions for misspelled keys."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.logging_spec import keys
from podium.logging_spec.keys import ALL, INFORMAL, V05, V05_PREFIXES, Key, known, nearest
from tests.rounds import HPC, training_from

TRAINING_ROUNDS = [*training_from("0.6")]
HPC_ROUNDS = [f"hpc {name}" for name in HPC[1:]]


def test_every_constant_has_the_name_of_its_key() -> None:
    constants = {name: value for name, value in vars(keys).items() if isinstance(value, Key)}
    assert {name.lower() for name in constants} == set(ALL)
    assert all(name.lower() == key.name for name, key in constants.items())


def test_every_key_is_described() -> None:
    for key in (*ALL.values(), *V05.values()):
        assert re.fullmatch(r"[a-z0-9_]+", key.name)
        assert key.type in get_args(keys.ValueType), key.name
        assert key.role in get_args(keys.Role), key.name
        assert key.meaning, key.name
        assert not key.meaning.endswith("."), key.name


def test_rounds_of_a_key_exist_and_are_in_order() -> None:
    for key in ALL.values():
        assert key.since in TRAINING_ROUNDS + HPC_ROUNDS, key.name
        assert key.until is None or key.until in TRAINING_ROUNDS + HPC_ROUNDS, key.name
        for rounds in (TRAINING_ROUNDS, HPC_ROUNDS):
            if key.since in rounds and key.until in rounds:
                assert rounds.index(key.since) <= rounds.index(key.until), key.name


def test_a_key_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="can't set attribute"):
        keys.RUN_START.name = "run_begin"  # type: ignore[misc]
    with pytest.raises(TypeError):
        ALL["new"] = keys.RUN_START  # type: ignore[index]


def test_interval_starts_and_ends_come_in_pairs() -> None:
    starts = {key.name for key in ALL.values() if key.role == "interval_start"}
    ends = {key.name for key in ALL.values() if key.role == "interval_end"}
    assert {name.removesuffix("_start") for name in starts} == {
        name.removesuffix("_stop") for name in ends
    }


def test_informal_keys_are_not_standard() -> None:
    assert INFORMAL.isdisjoint(ALL)


def test_known_finds_exact_names_only() -> None:
    assert known("opt_adamw_beta_2") is keys.OPT_ADAMW_BETA_2
    assert known("OPT_ADAMW_BETA_2") is None
    assert known("tracked_stats") is None


def test_prefixes_of_v05_cover_most_of_its_keys() -> None:
    without = {name for name in V05 if not name.startswith(tuple(V05_PREFIXES))}
    assert without == {"create_optim_method", "model_l2_regularization", "seed"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("eval_acuracy", "eval_accuracy"),
        ("run_strat", "run_start"),
        ("opt_adamw_beta1", "opt_adamw_beta_1"),
        ("opt_learning_rate_warmup_step", "opt_learning_rate_warmup_steps"),
        ("WEIGHTS_INITIALIZATION", "weights_initialization"),
        ("global-batch-size", "global_batch_size"),
        ("globalbatchsize", "global_batch_size"),
        ("seed ", "seed"),
        ("sequence_length", "max_sequence_length"),
        ("data_speed_perturbation_max", "data_speed_perturbaton_max"),
        ("opt_init_checkpoint_step", "init_checkpoint_step"),
    ],
)
def test_a_misspelled_key_has_a_suggestion(written: str, meant: str) -> None:
    found = nearest(written)
    assert found is not None
    assert found.name == meant


@pytest.mark.parametrize(
    "name",
    [
        "opt_adamw_beta_3",
        "opt_adam_weight_decay",
        "opt_lamb_learning_rate_max",
        "train_loss ",
        "learning_rate",
        "eval_loss",
        "my_own_statistic",
        "run_final",
        "",
        "x" * 100_000,
    ],
)
def test_an_unrelated_key_has_no_suggestion(name: str) -> None:
    assert nearest(name) is None


def test_a_known_key_has_no_suggestion() -> None:
    assert not [name for name in {*ALL, *INFORMAL, *V05} if nearest(name)]


@settings(deadline=None)
@given(st.text())
def test_only_an_unknown_name_has_a_suggestion(name: str) -> None:
    assert nearest(name) is None or known(name) is None
