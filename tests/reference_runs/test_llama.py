"""Llama 3.1 and Llama 2 with LoRA: published sizes, the adapters, what the logs say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.llama2_70b_lora import config as lora  # noqa: E402
from podium.reference_runs.llama2_70b_lora.model import adapted_llama  # noqa: E402
from podium.reference_runs.llama31 import config as llama31  # noqa: E402
from podium.reference_runs.llama31.data import from_files  # noqa: E402
from podium.reference_runs.llama31.model import SLICE, Llama, rotary_frequencies  # noqa: E402

PUBLISHED_8B = 8_030_261_248
PUBLISHED_405B = 405_853_388_800
"""Of the released models, whose vocabulary is 128,256 (model cards, 2024)."""
PUBLISHED_70B = 68_976_648_192
"""Of the released Llama 2 70B (model card, 2023)."""


def size(model: torch.nn.Module, *, trained: bool = False) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained)


def test_the_reference_models_have_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        assert size(Llama(llama31.reference_8b())) == PUBLISHED_8B
        released = replace(llama31.reference_405b(), vocabulary=128_256)
        assert size(Llama(released)) == PUBLISHED_405B


def test_the_adapters_add_44_million_parameters_to_the_published_base() -> None:
    with torch.device("meta"):
        model = adapted_llama(lora.reference())
    assert size(model, trained=True) == 44_564_480
    assert size(model) - size(model, trained=True) == PUBLISHED_70B


def test_a_forward_and_a_backward_pass_have_the_right_shapes() -> None:
    config = llama31.smoke_8b()
    model = Llama(config)
    tokens = torch.randint(0, config.vocabulary, (3, config.max_sequence_length))
    scores = model(tokens)
    assert scores.shape == (3, config.max_sequence_length, config.vocabulary)
    scores.sum().backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())


@pytest.mark.parametrize("make", [llama31.smoke_8b, lora.smoke])
def test_what_is_computed_again_gives_the_same_gradients(make: Any) -> None:
    losses, gradients = [], []
    for recompute in (False, True):
        config = replace(make(), recompute=recompute)
        torch.manual_seed(1)
        model = adapted_llama(config) if make is lora.smoke else Llama(config)
        # Longer than one slice of scores, and no multiple of it.
        tokens = torch.randint(0, config.vocabulary, (2, SLICE + 100))
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        losses.append(loss.item())
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    assert losses[0] == losses[1]
    assert len(gradients[0]) == len(gradients[1]) > 0
    assert all(map(torch.equal, *gradients))


def test_the_loss_by_slices_is_the_cross_entropy_of_the_scores() -> None:
    config = llama31.smoke_8b()
    model = Llama(config)
    tokens = torch.randint(0, config.vocabulary, (3, SLICE))
    whole = torch.nn.functional.cross_entropy(
        model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum"
    )
    torch.testing.assert_close(model(tokens[:, :-1], tokens[:, 1:]), whole)


def test_no_position_sees_a_later_one() -> None:
    config = llama31.smoke_8b()
    model = Llama(config).eval()
    tokens = torch.randint(0, config.vocabulary, (1, 16))
    changed = tokens.clone()
    changed[0, 10] = (changed[0, 10] + 1) % config.vocabulary
    with torch.no_grad():
        before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


def test_slow_waves_are_stretched_and_fast_ones_are_not() -> None:
    config = llama31.reference_8b()
    scaled = rotary_frequencies(config)
    plain = rotary_frequencies(replace(config, rope_scaling=1.0))
    assert scaled[0] == plain[0]
    torch.testing.assert_close(scaled[-1], plain[-1] / config.rope_scaling)
    assert ((scaled <= plain) & (scaled >= plain / config.rope_scaling)).all()


def test_fresh_adapters_change_nothing() -> None:
    config = replace(lora.smoke(), lora_dropout=0.0)
    model = adapted_llama(config)
    tokens = torch.randint(0, config.vocabulary, (2, 16))
    with torch.no_grad():
        before = model(tokens)
        for name, parameter in model.named_parameters():
            if "attention" in name and ".down." in name:
                parameter.normal_()
        torch.testing.assert_close(model(tokens), before)


def test_token_files_are_cut_into_sequences_that_overlap_by_one(tmp_path: Path) -> None:
    np.arange(1000, dtype=np.uint32).tofile(tmp_path / "train.bin")
    np.arange(200, dtype=np.uint32).tofile(tmp_path / "validation.bin")
    config = replace(llama31.smoke_8b(), max_sequence_length=64)
    training, evaluation = from_files(tmp_path, config)
    assert (len(training), len(evaluation)) == (15, 3)
    assert training.__getitems__([1]).tolist() == [list(range(64, 129))]


def test_files_too_short_are_named(tmp_path: Path) -> None:
    np.arange(10, dtype=np.uint32).tofile(tmp_path / "train.bin")
    with pytest.raises(DataMissing, match=r"train\.bin holds 10 tokens; one sequence needs 65"):
        from_files(tmp_path, llama31.smoke_8b())
