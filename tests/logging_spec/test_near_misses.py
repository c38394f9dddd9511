"""Names in a log that probably mean a key that the log lacks."""

from __future__ import annotations

import pytest

from podium.logging_spec.keys.lookup import ALL
from podium.logging_spec.keys.near_misses import near_misses

MEANT = {
    "lowest_numerical_precision_linear": "lowest_numerical_precision_in_linear",
    "eval_frequency": "evaluation_frequency",
    "opt_base_lr": "opt_base_learning_rate",
    "globalBatchSize": "global_batch_size",
    "gbs": "global_batch_size",
    "grad_accum_steps": "gradient_accumulation_steps",
    "optimizer_name": "opt_name",
    "max_seq_len": "max_sequence_length",
    "learning_rate": "opt_base_learning_rate",
    "opt_lr_warmup_steps": "opt_learning_rate_warmup_steps",
    "submission_plattform": "submission_platform",
    "submission_organization": "submission_org",
    "global-batch-size": "global_batch_size",
    "accuracy": "eval_accuracy",
    "run_end": "run_stop",
    "init_begin": "init_start",
    "benchmark": "submission_benchmark",
    "lora_r": "lora_rank",
    "rank": "lora_rank",
    "opt_learning_rate": "opt_base_learning_rate",
}


@pytest.mark.parametrize(("name", "key"), MEANT.items())
def test_a_near_miss_is_matched_with_the_missing_key(name: str, key: str) -> None:
    assert key in ALL
    assert near_misses([name, "train_loss", "seed"], [key]) == {name: key}


@pytest.mark.parametrize("name", MEANT)
def test_a_log_without_missing_keys_has_no_near_misses(name: str) -> None:
    assert near_misses([name], []) == {}


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("train_loss", "eval_accuracy"),
        ("opt_end_learning_rate", "opt_base_learning_rate"),  # a different standard key
        ("opt_lr_decay_steps", "opt_learning_rate_warmup_steps"),
        ("target_accuracy", "eval_accuracy"),
        ("seed_of_the_data", "seed"),
        ("", "seed"),
        ("x" * 10_000, "global_batch_size"),
    ],
)
def test_unrelated_names_are_not_near_misses(name: str, key: str) -> None:
    assert near_misses([name], [key]) == {}


def test_each_missing_key_is_matched_with_one_name() -> None:
    lacking = ["opt_base_learning_rate", "opt_learning_rate_warmup_steps"]
    found = near_misses(["opt_base_lr", "opt_lr", "opt_lr_warmup_steps"], lacking)
    assert found == {
        "opt_base_lr": "opt_base_learning_rate",
        "opt_lr_warmup_steps": "opt_learning_rate_warmup_steps",
    }
