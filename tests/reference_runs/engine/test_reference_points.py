"""The reference configs have the settings of their reference convergence points."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from podium.reference_runs.catalogue import find, names
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.engine.setting import Setting
from podium.rules.convergence.data import points_of

RENAMED = {
    "optimizer": "opt_name",
    "lora_r": "lora_rank",
    "max_steps": "opt_learning_rate_training_steps",
    "opt_max_grad_norm": "opt_gradient_clip_norm",
    "opt_learning_decay_steps": "opt_learning_rate_decay_steps",
    "model_eva_ema_factor": "model_eval_ema_factor",
    "sgd_opt_base_learning_rate": "opt_base_learning_rate",
}
"""Hyperparameters of a point with another name than the field of the config."""

OF_THE_MACHINE = {
    "gradient_accumulation_steps",
    "gradient_accumulation_frequency",
    "opt_gradient_accumulation_steps",
    "num_workers",
    # The group of one accelerator; the config has a span in samples
    "batchnorm_groupsize",
}
"""Settings that depend on the system of the reference runs."""

OTHERWISE = {
    ("rnnt", "data_train_num_buckets"): 6,
    ("maskrcnn", "num_image_candidates"): 1000,
}
"""Settings that differ from the point: the closed rules of 1.0 require six buckets; Mask R-CNN
limits the proposals per image, the point those of the six images of an accelerator."""

WITH_POINT = [name for name in names() if find(name).point is not None]


def as_listed(value: Any) -> Any:
    """A value in its JSON form; a string that contains a number becomes a number."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value.lower()
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", WITH_POINT)
def test_the_reference_config_has_every_setting_of_its_point(name: str) -> None:
    benchmark = find(name)
    where, config = benchmark.point, benchmark.reference()
    assert where is not None
    (point,) = [
        each for each in points_of(where.usage, where.round, where.benchmark) if each.id == where.id
    ]
    known = {field.name for field in fields(config)}
    assert config.global_batch_size == point.batch_size
    for key, wanted in point.hyperparameters.items():
        if key in OF_THE_MACHINE:
            continue
        if key == "precision":  # an option of the run: compare its default
            assert Setting().precision == wanted
            continue
        field = key if key in known else RENAMED.get(key, key)
        field = f"lars_{key}" if f"lars_{key}" in known else field
        if key == "opt_learning_rate_warmup_samples":
            steps = config.opt_learning_rate_warmup_steps  # type: ignore[attr-defined]
            assert steps * config.global_batch_size == wanted
            continue
        if field not in known:
            # A schedule without warm-up or boundaries has no field for them
            assert not wanted, key
            continue
        found = getattr(config, field)
        if (name, key) == ("unet3d", "opt_learning_rate_warmup_epochs"):
            found *= config.train_samples  # the point counts samples
        wanted = OTHERWISE.get((name, key), wanted)
        if (name, key) == ("cosmoflow", "opt_learning_rate_decay_factor"):
            found = found[0]
        assert as_listed(found) == as_listed(wanted), key


def test_an_unknown_point_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"training 6\.1 has no convergence point nobody_8"):
        ReferencePoint("training", "6.1", "llama31_8b", "nobody_8").settings()
