"""GPT-3: size, equality with transformers, schedule, files and progress in tokens."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402, N812

from podium.logging_spec import Logger  # noqa: E402
from podium.reference_runs.benchmarks.gpt3.config import Gpt3, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.gpt3.data import Apart, from_files  # noqa: E402
from podium.reference_runs.benchmarks.gpt3.model import Decoder  # noqa: E402
from podium.reference_runs.benchmarks.gpt3.train import Gpt3Pretraining  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from podium.reference_runs.log.declare import declare  # noqa: E402
from podium.reference_runs.modeling.language import base  # noqa: E402
from podium.reference_runs.modeling.language.corpus import UNSCORED, synthetic  # noqa: E402
from podium.reference_runs.modeling.language.files import TokenFile  # noqa: E402
from podium.reference_runs.weights.layout import GPT2, source  # noqa: E402
from tests.reference_runs.smoke import Smoke  # noqa: E402

SHAPES = {
    "blocks.95.qkv.weight": (36_864, 12_288),
    "blocks.95.qkv.bias": (36_864,),
    "blocks.95.up.weight": (49_152, 12_288),
    "position_embedding.weight": (2048, 12_288),
    "embedding.weight": (51_200, 12_288),
}
"""Shapes of tensors in the benchmark's checkpoint; its page states the shape of the bias."""


def test_the_reference_model_has_the_size_and_shapes_of_its_layers() -> None:
    with torch.device("meta"):
        model = Decoder(reference())
    found = sum(each.numel() for each in model.parameters())
    width, layers = 12_288, 96
    # Weights: 4 width² of attention and 8 width² of the FFN; biases: 9 width; norms: 4 width
    block = 12 * width**2 + 9 * width + 4 * width
    assert found == layers * block + (51_200 + 2048) * width + 2 * width == 174_615_846_912
    # The table in the paper has an unpadded vocabulary and says 175 billion
    assert round((found - (51_200 - 50_257) * width) / 1e9) == 175
    shapes = {name: tuple(each.shape) for name, each in model.named_parameters()}
    assert {name: shapes[name] for name in SHAPES} == SHAPES


def small(**changes: Any) -> Gpt3:
    """Return a config with initial weights as large as those of a trained model."""
    return replace(smoke(), initial_deviation=0.3, max_sequence_length=12, **changes)


def decoder(config: Gpt3) -> Decoder:
    torch.manual_seed(1)
    model = Decoder(config)
    for each in model.parameters():
        if each.dim() == 1:
            torch.nn.init.normal_(each, each.mean().item(), 0.2)
    return model


def task_of(config: Gpt3, **setting: Any) -> Gpt3Pretraining:
    return Gpt3Pretraining(config, Setting(**setting), Ranks(torch.device("cpu")))


def test_weights_start_with_the_configured_deviation_and_biases_at_zero() -> None:
    torch.manual_seed(1)
    for name, each in Decoder(replace(smoke(), initial_deviation=0.006)).state_dict().items():
        if each.dim() > 1:
            assert float(each.std()) == pytest.approx(0.006, rel=0.05), name
        else:
            assert torch.equal(each, torch.full_like(each, float(name.endswith("weight"))))


def test_a_batch_has_scores_and_gives_every_parameter_a_gradient() -> None:
    config = small()
    model = decoder(config)
    tokens = torch.randint(0, config.vocabulary, (16, 12))
    assert model(tokens).shape == (16, 12, config.vocabulary)
    model(tokens, tokens.roll(-1, 1)).backward()
    # The embedding is also the output layer, so words that are not in the input get gradients
    assert all(p.grad is not None and (p.grad != 0).any(-1).all() for p in model.parameters())


def test_scores_depend_on_position_and_not_on_later_tokens() -> None:
    model = decoder(small())
    tokens = torch.randint(0, 128, (1, 12))
    changed = tokens.clone()
    changed[0, 7] = (changed[0, 7] + 1) % 128
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :7], after[:, :7])
    assert not torch.allclose(before[:, 7:], after[:, 7:])
    same = model(torch.full((1, 12), 5))
    assert not torch.allclose(same[:, 3], same[:, 4])


def test_recomputation_gives_the_same_gradients() -> None:
    gradients = []
    for recompute in (False, True):
        model = decoder(small(recompute=recompute))
        tokens = torch.randint(0, 128, (4, 13), generator=torch.Generator().manual_seed(2))
        model(tokens[:, :-1], tokens[:, 1:]).backward()
        gradients.append([p.grad for p in model.parameters()])
    assert all(map(torch.equal, *gradients))


# --- published weights ---


def published(model: Decoder) -> dict[str, Any]:
    """Return a model's tensors with the names and shapes of the GPT-2 release."""
    found: dict[str, Any] = {}
    for name, tensor in model.state_dict().items():
        row = source(GPT2, name)
        assert row is not None, name
        found[row.published[0]] = (tensor.T if row.transposed else tensor).contiguous()
    return found


def test_training_starts_from_published_weights(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    config = small()
    library.save_file(published(decoder(config)), tmp_path / "model.safetensors")
    ours = task_of(config, weights=tmp_path).build().state_dict()
    wanted = decoder(config).state_dict()
    assert ours.keys() == wanted.keys()
    assert all(torch.equal(ours[name], each) for name, each in wanted.items())


def test_the_model_gives_the_same_scores_as_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = small()
    torch.manual_seed(3)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=config.vocabulary,
            n_positions=config.max_sequence_length,
            n_embd=config.width,
            n_layer=config.layers,
            n_head=config.heads,
            n_inner=config.ffn_width,
            activation_function="gelu_new",
            initializer_range=0.3,
        )
    ).eval()
    for name, each in theirs.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(each, std=0.2)
    theirs.save_pretrained(tmp_path)
    ours = task_of(config, weights=tmp_path).build().eval()
    tokens = torch.randint(0, 128, (3, 12))
    with torch.no_grad():
        torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=1e-4, atol=1e-4)


# --- optimizer and schedule ---


def test_the_learning_rate_continues_from_the_checkpoint() -> None:
    config = reference()
    task = task_of(config)
    assert task.learning_rate(265 - 4000) == 2e-5
    assert task.learning_rate(108_600 - 4000) == pytest.approx(2e-6)
    assert task.learning_rate(108_600) == pytest.approx(2e-6)
    # The checkpoint contains the rate of its last step, on the same schedule from 6e-5
    before = replace(config, opt_base_learning_rate=6e-5, opt_end_learning_rate=6e-6)
    assert task_of(before).learning_rate(0) == pytest.approx(5.984178321979609e-05, rel=2e-6)


def test_all_weights_decay() -> None:
    task = task_of(smoke())
    model = Decoder(smoke())
    (adam,) = task.optimizers(model)
    (group,) = adam.param_groups
    assert len(group["params"]) == len([*model.parameters()])
    assert [group[key] for key in ("betas", "eps", "weight_decay")] == [(0.9, 0.95), 1e-8, 0.1]


# --- files ---


def write(path: Path, count: int) -> None:
    (np.arange(count, dtype=np.uint32) % 100).tofile(path)


def test_sequences_do_not_overlap_and_the_last_may_be_short(tmp_path: Path) -> None:
    write(tmp_path / "validation.bin", 27)
    data = Apart(TokenFile(tmp_path / "validation.bin", 128), 8)
    assert (len(data), data.predicted) == (4, 27 - 4)
    tokens, targets = data.__getitems__([0, 1, 3])
    assert tokens[1].tolist() == [8, 9, 10, 11, 12, 13, 14, 15]
    assert targets[0].tolist() == [1, 2, 3, 4, 5, 6, 7, UNSCORED]
    assert tokens[2].tolist() == [24, 25, 26, 0, 0, 0, 0, 0]
    assert targets[2].tolist() == [25, 26, *[UNSCORED] * 6]
    every = data.__getitems__(range(4)).targets
    assert int((every != UNSCORED).sum()) == data.predicted


def test_the_evaluation_tokens_of_the_reference_fill_5662_sequences() -> None:
    # One token of each sequence is not predicted, and the last sequence is not full
    whole = reference().eval_samples + 5662
    assert -(-whole // 2048) == 5662


def test_an_evaluation_file_of_the_wrong_size_is_reported(tmp_path: Path) -> None:
    config = replace(smoke(), train_samples=2, eval_samples=100)
    write(tmp_path / "train.bin", 200)
    write(tmp_path / "validation.bin", 100)
    wanted = DatasetSize(2, 100)
    with pytest.raises(
        DataMissing, match="bin contains 98 tokens to predict in sequences of 64; e"
    ):
        from_files(tmp_path, config, wanted)
    write(tmp_path / "validation.bin", 102)
    training, evaluation = from_files(tmp_path, config, wanted)
    assert (len(training), evaluation.predicted) == (2, 100)


def test_the_quality_is_the_mean_loss_of_the_predicted_tokens(tmp_path: Path) -> None:
    config = replace(smoke(), train_samples=1, eval_samples=100)
    for part in ("train", "validation"):
        write(tmp_path / f"{part}.bin", 102)
    task = task_of(config, scale="reference", data=tmp_path)
    task.open_data()
    assert task.samples() == (1, 100)
    model = decoder(replace(config, initial_deviation=0.3)).eval()
    rows = torch.arange(102).remainder(100)
    first, second = rows[:64], rows[64:]
    with torch.no_grad():
        losses = [
            F.cross_entropy(model(each[None])[0, :-1], each[1:], reduction="sum")
            for each in (first, second)
        ]
        assert task.evaluate(model) == pytest.approx(float(sum(losses)) / 100, rel=1e-5)


# --- the log and the smoke language ---


def test_progress_is_logged_in_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A base that is trained for one step is sufficient and fast
    monkeypatch.setattr(base, "STEPS", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    short = {"last_step": 4, "evaluation_interval": 32, "eval_samples": 128, "target": 0.0}
    path = tmp_path / "result_0.txt"
    Smoke(name="gpt3", round="4.1", division="closed", settings=short).train(path)
    lines = [json.loads(line.partition(" ")[2]) for line in path.read_text().splitlines()]
    found = {key: [e for e in lines if e["key"] == key] for key in ("eval_accuracy", "block_start")}
    places = [each["metadata"]["epoch_num"] for each in found["eval_accuracy"]]
    assert places == [2 * 16 * 64, 4 * 16 * 64]
    blocks = [each["metadata"] for each in found["block_start"]]
    assert [each["first_epoch_num"] for each in blocks] == [0, 2 * 16 * 64]
    assert {each["epoch_count"] for each in blocks} == {2 * 16 * 64}
    assert [e["value"] for e in lines if e["key"] == "eval_samples"] == [128]


def test_the_loss_of_a_bigram_model_stays_above_the_target() -> None:
    task = task_of(smoke())
    training, evaluation = synthetic(task.language(), replace(smoke(), eval_samples=128), 1)
    counts = np.full((128, 128), 0.02)
    np.add.at(counts, (training.tokens[:, :-1], training.tokens[:, 1:]), 1)
    chances = counts / counts.sum(1, keepdims=True)
    loss = -np.log(chances[evaluation.tokens[:, :-1], evaluation.tokens[:, 1:]]).mean()
    assert loss > 1.2 * smoke().target


def test_only_a_reference_log_notes_that_adam_moments_start_at_zero() -> None:
    for scale, noted in (("smoke", False), ("reference", True)):
        written = io.StringIO()
        with Logger(written, rank=0) as log:
            declare(log, reference(), Setting(scale=scale), Ranks(torch.device("cpu")))
        assert ("Adam's moments start at 0" in written.getvalue()) is noted
