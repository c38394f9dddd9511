"""Numbers, keys, seeds, and products of disclosed sizes."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog

Make = Callable[[], GoodLog]


@pytest.mark.parametrize(
    "line",
    [
        at(0, "opt_base_learning_rate", float("nan")),
        at(0, "opt_end_learning_rate", float("inf")),
        at(0, "lr_rates", [0.1, float("nan")]),
        at(15, "eval_accuracy", float("nan"), samples_count=12_288),
        at(15, "eval_accuracy", {"BBOX": float("-inf")}, samples_count=12_288),
    ],
)
def test_values_that_are_not_finite_are_reported(good: Make, line: str) -> None:
    assert good().add(line).faults() == ["log.not-a-number"]


@pytest.mark.parametrize("key", ["global_batchsize", "opt_adamw_beta1", "GLOBAL_BATCH_SIZE"])
def test_a_misspelled_key_is_reported(good: Make, key: str) -> None:
    log = good().drop("global_batch_size").add(at(0, key, 32))
    assert log.faults() == ["log.misspelt-key"]


@pytest.mark.parametrize("key", ["throughput", "tracked_stats", "my_own_statistic"])
def test_custom_keys_are_accepted(good: Make, key: str) -> None:
    assert good().add(at(0, key, 1)).faults() == []


def test_a_misspelled_key_next_to_the_standard_key_is_accepted(good: Make) -> None:
    assert good().add(at(0, "global_batchsize", 32)).faults() == []


@pytest.mark.parametrize("value", ["four", {"a": 4}, [4, 4], True, ""])
def test_a_number_of_another_type_is_reported(good: Make, value: object) -> None:
    assert good().add(at(0, "gradient_accumulation_steps", value)).faults() == ["log.wrong-type"]


@pytest.mark.parametrize("value", [4, 4.0, [4], None, 1.6e1])
def test_a_number_may_have_several_forms(good: Make, value: object) -> None:
    assert good().add(at(0, "gradient_accumulation_steps", value)).faults() == []


@pytest.mark.parametrize("value", [0.5, 1.25, 4.001])
def test_a_count_that_is_not_whole_is_reported(good: Make, value: float) -> None:
    assert good().add(at(0, "lora_rank", value)).faults() == ["log.not-whole"]


@pytest.mark.parametrize(("key", "value"), [("opt_learning_rate_warmup_epochs", 1.5), ("b", 0.5)])
def test_a_measured_value_may_be_a_fraction(good: Make, key: str, value: float) -> None:
    assert good().add(at(0, key, value)).faults() == []


def test_a_closed_run_without_a_seed_is_reported(good: Make) -> None:
    assert good().drop("seed").faults() == ["seed.missing"]


@pytest.mark.parametrize(
    ("rules", "division", "missing"),
    [
        ("training 4.0", "closed", False),
        ("training 4.1", "closed", True),
        ("training 6.1", "closed", True),
        ("training 6.1", "open", False),
        ("hpc 3.0", "closed", False),
    ],
)
def test_seeds_are_required_in_closed_since_4_1(rules: str, division: str, missing: bool) -> None:
    benchmark = "cosmoflow" if rules.startswith("hpc") else "llama2_70b_lora"
    log = GoodLog([], benchmark, rules, division=division).drop("seed")
    assert ("seed.missing" in log.faults()) == missing


@pytest.mark.parametrize("value", [1.5, True, None, "abc", [1], 10.0])
def test_a_seed_that_is_not_an_integer_is_reported(good: Make, value: object) -> None:
    assert good().add(at(0, "seed", value)).faults() == ["seed.not-integer"]


@pytest.mark.parametrize("value", [0, -1, 2**63, "12345"])
def test_seeds_of_any_size_are_accepted(good: Make, value: object) -> None:
    assert good().add(at(0, "seed", value)).faults() == []


BATCH = "disclosure.batch-not-composed"
DIVIDED = "disclosure.accelerators-not-divided"


@pytest.mark.parametrize(
    ("disclosed", "faults"),
    [
        ({"micro_batch_size": 2, "gradient_accumulation_steps": 4}, []),
        ({"micro_batch_size": 3, "gradient_accumulation_steps": 4}, [BATCH]),
        ({"micro_batch_size": 64, "gradient_accumulation_steps": 1}, [BATCH]),
        ({"micro_batch_size": 3}, [BATCH]),
        ({"gradient_accumulation_steps": 5}, [BATCH]),
        ({"gradient_accumulation_steps": 4}, []),
        ({"local_batch_size": 8}, []),
        ({"local_batch_size": 9}, [BATCH]),
        ({"d_batch_size": 8.0, "gradient_accumulation_steps": 2}, []),
        ({"d_batch_size": 16, "gradient_accumulation_steps": 4}, [BATCH]),
    ],
)
def test_disclosed_batch_sizes_must_multiply_to_the_batch_size(
    good: Make, disclosed: dict[str, int], faults: list[str]
) -> None:
    lines = [at(-5, key, value) for key, value in disclosed.items()]
    assert good().add(*lines).faults() == faults


@pytest.mark.parametrize(
    ("tensor", "pipeline", "micro", "faults"),
    [
        (2, 2, 4, []),
        (2, 4, 4, [BATCH]),
        (3, 1, 4, [DIVIDED]),
    ],
)
def test_parallelism_must_divide_the_accelerators_and_the_batch_size(
    good: Make, tensor: int, pipeline: int, micro: int, faults: list[str]
) -> None:
    log = good().add(
        at(-5, "number_of_nodes", 2),
        at(-5, "accelerators_per_node", 8),
        at(-5, "tensor_parallelism", tensor),
        at(-5, "pipeline_parallelism", pipeline),
        at(-5, "context_parallelism", 1),
        at(-5, "micro_batch_size", micro),
        at(-5, "gradient_accumulation_steps", 2),
    )
    assert log.faults() == faults


@pytest.mark.parametrize(
    ("key", "given", "fault"),
    [
        ("run_start", "INTERVAL_START", False),
        ("run_start", "INTERVAL_END", True),
        ("run_start", "POINT_IN_TIME", True),
        ("run_start", None, False),
        ("run_start", {"type": "INTERVAL_START"}, True),
        ("run_stop", "INTERVAL_END", False),
        ("run_stop", "INTERVAL_START", True),
        ("block_stop", "POINT_IN_TIME", True),
        ("eval_accuracy", "INTERVAL_END", False),
    ],
)
def test_a_wrong_event_type_is_reported(good: Make, key: str, given: object, fault: bool) -> None:
    log = good()
    place = log.of(key)
    log.records[place] = msgspec.structs.replace(log.records[place], event_type=given)
    assert ("log.wrong-event-type" in log.faults()) == fault


def test_all_keys_with_wrong_event_types_are_one_finding(good: Make) -> None:
    log = good()
    for key in ("run_start", "run_stop"):
        place = log.of(key)
        log.records[place] = msgspec.structs.replace(log.records[place], event_type="POINT_IN_TIME")
    [violation] = log.violations()["log.wrong-event-type"]
    assert violation.message.endswith("must be INTERVAL_START (also wrong: run_stop)")


@pytest.mark.parametrize("value", ["768", None, "tensor(768)", [768], True, {}])
@pytest.mark.parametrize("name", ["samples_count", "epoch_num", "step_num"])
def test_a_position_that_is_not_a_number_is_reported(good: Make, name: str, value: object) -> None:
    log = good().add(at(15, "eval_accuracy", 3.4, **{name: value}))
    assert "log.wrong-type" in log.faults()


@pytest.mark.parametrize("value", [None, [32], "32", True])
def test_a_batch_size_that_is_not_a_number_is_reported(good: Make, value: object) -> None:
    log = good().drop("global_batch_size").add(at(0, "global_batch_size", value))
    assert "log.wrong-type" in log.faults()
