"""Llama 3.1 and Llama 2 with LoRA: published sizes, adapters, recomputation and token files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.llama2_70b_lora import config as lora  # noqa: E402
from podium.reference_runs.benchmarks.llama2_70b_lora import data as packed  # noqa: E402
from podium.reference_runs.benchmarks.llama2_70b_lora.model import adapted_llama  # noqa: E402
from podium.reference_runs.benchmarks.llama2_70b_lora.train import FineTuning  # noqa: E402
from podium.reference_runs.benchmarks.llama31 import config as llama31  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.modeling.decoder import SLICE  # noqa: E402
from podium.reference_runs.modeling.language.corpus import UNSCORED  # noqa: E402
from podium.reference_runs.modeling.language.files import from_files  # noqa: E402
from podium.reference_runs.modeling.language.llama import Llama, rotary_frequencies  # noqa: E402

PUBLISHED_8B = 8_030_261_248
PUBLISHED_405B = 405_853_388_800
"""Parameters of the released models with a vocabulary of 128,256 (model cards, 2024)."""
PUBLISHED_70B = 68_976_648_192
"""Parameters of the released Llama 2 70B (model card, 2023)."""


def size(model: torch.nn.Module, *, trained: bool = False) -> int:
    """Return the number of parameters."""
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
def test_recomputation_gives_the_same_loss_and_gradients(make: Any) -> None:
    losses, gradients = [], []
    for recompute in (False, True):
        config = replace(make(), recompute=recompute)
        torch.manual_seed(1)
        model = adapted_llama(config) if make is lora.smoke else Llama(config)
        # Longer than one slice of scores, but not a multiple of it.
        tokens = torch.randint(0, config.vocabulary, (2, SLICE + 100))
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        losses.append(loss.item())
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    assert losses[0] == losses[1]
    assert len(gradients[0]) == len(gradients[1]) > 0
    assert all(map(torch.equal, *gradients))


def test_the_sliced_loss_equals_the_cross_entropy_of_the_scores() -> None:
    config = llama31.smoke_8b()
    model = Llama(config)
    tokens = torch.randint(0, config.vocabulary, (3, SLICE))
    whole = torch.nn.functional.cross_entropy(
        model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum"
    )
    torch.testing.assert_close(model(tokens[:, :-1], tokens[:, 1:]), whole)


def test_scores_do_not_depend_on_later_tokens() -> None:
    config = llama31.smoke_8b()
    model = Llama(config).eval()
    tokens = torch.randint(0, config.vocabulary, (1, 16))
    changed = tokens.clone()
    changed[0, 10] = (changed[0, 10] + 1) % config.vocabulary
    with torch.no_grad():
        before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :10], after[:, :10])
    assert not torch.allclose(before[:, 10:], after[:, 10:])


def test_rope_scaling_reduces_low_frequencies_and_not_the_highest() -> None:
    config = llama31.reference_8b()
    scaled = rotary_frequencies(config)
    plain = rotary_frequencies(replace(config, rope_scaling=1.0))
    assert scaled[0] == plain[0]
    torch.testing.assert_close(scaled[-1], plain[-1] / config.rope_scaling)
    assert ((scaled <= plain) & (scaled >= plain / config.rope_scaling)).all()


def test_new_adapters_do_not_change_the_scores() -> None:
    config = replace(lora.smoke(), lora_dropout=0.0)
    model = adapted_llama(config)
    tokens = torch.randint(0, config.vocabulary, (2, 16))
    with torch.no_grad():
        before = model(tokens)
        for name, parameter in model.named_parameters():
            if "attention" in name and ".down." in name:
                parameter.normal_()
        torch.testing.assert_close(model(tokens), before)


# --- token files ---


def streams(folder: Path, tokens: int, wanted: int) -> Any:
    """Return sequences of 4 tokens from a file that contains the numbers from 0."""
    np.arange(tokens, dtype=np.uint32).tofile(folder / "train.bin")
    np.arange(8, dtype=np.uint32).tofile(folder / "validation.bin")
    config = replace(llama31.smoke_8b(), max_sequence_length=4)
    return from_files(folder, config, DatasetSize(wanted, 2))


@pytest.mark.parametrize(
    ("tokens", "last"), [(12, UNSCORED), (13, 12), (14, 12), (15, 12), (16, 12)]
)
def test_token_files_are_split_into_sequences_with_shifted_targets(
    tmp_path: Path, tokens: int, last: int
) -> None:
    training, evaluation = streams(tmp_path, tokens, 3)
    assert (len(training), len(evaluation)) == (3, 2)
    batch = training.__getitems__([0, 2])
    assert batch.tokens.tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert batch.targets.tolist() == [[1, 2, 3, 4], [9, 10, 11, last]]


@pytest.mark.parametrize(("tokens", "found"), [(3, 0), (4, 1), (5, 1), (11, 2)])
def test_short_token_files_are_reported_with_both_counts(
    tmp_path: Path, tokens: int, found: int
) -> None:
    said = rf"train\.bin contains {found} sequences of 4 tokens; expected 3"
    with pytest.raises(DataMissing, match=said):
        streams(tmp_path, tokens, 3)


def test_files_with_another_dtype_or_vocabulary_are_reported(tmp_path: Path) -> None:
    config = replace(llama31.smoke_8b(), max_sequence_length=4, vocabulary=2000)
    path = tmp_path / "train.bin"
    np.arange(1, 401, dtype=np.uint16).tofile(path)
    with pytest.raises(DataMissing, match=r"train\.bin .*; these look like 16-bit ids"):
        from_files(tmp_path, config, DatasetSize(3, 2))
    path.write_bytes(b"12345")
    with pytest.raises(DataMissing, match=r"train\.bin cannot be read as an array of uint32"):
        from_files(tmp_path, config, DatasetSize(3, 2))
    tokens = np.zeros(4000, dtype=np.uint32)
    tokens[3998] = 2000  # after the part that is checked first
    for name in ("train", "validation"):
        tokens.tofile(tmp_path / f"{name}.bin")
    training, _ = from_files(tmp_path, config, DatasetSize(1000, 1000))
    training.__getitems__([0, 998])
    with pytest.raises(DataMissing, match=r"the token id 2000 after token 3996; expected .*2000"):
        training.__getitems__([0, 999])


def write_packed(folder: Path, labels: list[int]) -> Any:
    """Write and read three training and two evaluation sequences of 4 tokens for fine-tuning."""
    np.arange(12, dtype=np.uint32).tofile(folder / "train.bin")
    np.arange(8, dtype=np.uint32).tofile(folder / "validation.bin")
    np.array(labels, dtype=np.int32).tofile(folder / "validation_labels.bin")
    config = replace(lora.smoke(), max_sequence_length=4)
    return packed.from_files(folder, config, DatasetSize(3, 2))


def test_packed_sequences_are_rows_and_prompts_are_not_scored(tmp_path: Path) -> None:
    training, evaluation = write_packed(tmp_path, [-100, -100, 2, 3, -100, -100, -100, 7])
    assert (len(training), len(evaluation)) == (3, 2)
    batch = training.__getitems__([2])
    assert batch.tokens.tolist() == [[8, 9, 10, 11]]
    assert batch.targets.tolist() == [[9, 10, 11, UNSCORED]]
    targets = evaluation.__getitems__([0, 1]).targets
    assert targets.tolist() == [[-100, 2, 3, -100], [-100, -100, 7, -100]]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0] * 7, r"labels\.bin contains 7 labels; expected 8"),
        (
            [0, 1, 2, 3, 9, 5, 6, 7],
            r"labels\.bin contains 9 at token 4; expected the token or -100",
        ),
    ],
)
def test_labels_that_do_not_match_the_tokens_are_reported(
    tmp_path: Path, labels: list[int], said: str
) -> None:
    with pytest.raises(DataMissing, match=said):
        write_packed(tmp_path, labels)[1].__getitems__([0, 1])


def fine_tuning() -> Any:
    """Return the prepared fine-tuning task at smoke scale."""
    task = FineTuning(lora.smoke(), Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    return task


def test_the_quality_of_fine_tuning_counts_only_answers() -> None:
    task = fine_tuning()

    class Places(torch.nn.Module):
        """A model with the position of each scored token as its loss."""

        def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            place = torch.arange(tokens.shape[1]).expand_as(targets)
            return place[targets != UNSCORED].sum()

    # The target of the last prompt token is the first token of the answer
    places = [np.arange(prompt - 1, 64) for prompt in task.evaluation.prompts]
    assert len({*task.evaluation.prompts.tolist()}) > 10
    assert task.evaluate(Places()) == pytest.approx(np.concatenate(places).mean())
    assert (task.training.__getitems__(range(9)).targets != UNSCORED).all()
