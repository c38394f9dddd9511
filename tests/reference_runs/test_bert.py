"""BERT: published size, equality with transformers, pairs and masks, files and schedule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.bert import files as files_module  # noqa: E402
from podium.reference_runs.benchmarks.bert.base import language  # noqa: E402
from podium.reference_runs.benchmarks.bert.config import reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.bert.data import SPECIAL, pairs  # noqa: E402
from podium.reference_runs.benchmarks.bert.files import Files  # noqa: E402
from podium.reference_runs.benchmarks.bert.model import Bert  # noqa: E402
from podium.reference_runs.benchmarks.bert.published import published_names  # noqa: E402
from podium.reference_runs.benchmarks.bert.train import CHANGED_SEED, CHANGED_SHARE, MaskedWords  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.language.corpus import UNSCORED  # noqa: E402
from podium.rules.training.shared.tensors import tensor_names  # noqa: E402
from tests.reference_runs.datasets import LITTLE  # noqa: E402

FEW = replace(smoke(), train_samples=64, eval_samples=64)


def test_the_reference_model_has_the_published_size() -> None:
    with torch.device("meta"):
        model = Bert(reference())
    # 335,141,888 in the encoder and 1,084,220 in both heads
    assert sum(p.numel() for p in model.parameters()) == 336_226_108
    assert len(list(model.parameters())) == 398


def test_tensors_have_their_published_names() -> None:
    with torch.device("meta"):
        shapes = {name: each.shape for name, each in Bert(reference()).state_dict().items()}
    names = published_names(24)
    assert {*names} == {*shapes}
    assert sorted(names.values()) == sorted(tensor_names("bert"))
    assert reference().weights("1.0") == reference().weights("3.0") == ()
    assert len(reference().weights("2.1")) == 398


def task() -> MaskedWords:
    made = MaskedWords(FEW, Setting(), Ranks(torch.device("cpu")))
    made.prepare()
    return made


def test_a_step_gives_every_parameter_a_gradient() -> None:
    torch.manual_seed(1)
    model, made = Bert(FEW), task()
    loss = made.loss(model, next(made.batches(1, 0)))
    loss.total.backward()
    assert float(loss.items) == 32 * 4
    # An untrained model guesses among 20 words and between two relations
    assert float((loss.total / loss.items).detach()) == pytest.approx(
        np.log(20) + np.log(2), rel=0.02
    )
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    assert 0 <= made.evaluate(model) < 0.3


LIBRARYS = (
    ("/", "."),
    (".layer_", ".layer."),
    (".kernel", ".weight"),
    (".gamma", ".weight"),
    (".beta", ".bias"),
    ("output_weights", "weight"),
    ("output_bias", "bias"),
    ("_embeddings", "_embeddings.weight"),
)
"""Replacements that convert published names to those of the library."""


def test_scores_equal_those_of_transformers_with_the_same_weights() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(2)
    own = Bert(FEW).eval()
    for weight in own.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    config = transformers.BertConfig(
        vocab_size=FEW.vocabulary,
        hidden_size=FEW.width,
        num_hidden_layers=FEW.layers,
        num_attention_heads=FEW.heads,
        intermediate_size=FEW.ffn_width,
        max_position_embeddings=FEW.max_sequence_length,
        hidden_act="gelu_pytorch_tanh",
    )
    theirs = transformers.BertForPreTraining(config).eval()
    state = theirs.state_dict()
    for name, published in published_names(FEW.layers).items():
        for before, after in LIBRARYS:
            published = published.replace(before, after)
        state[published].copy_(own.state_dict()[name])
    theirs.load_state_dict(state)
    batch = pairs(language(FEW), FEW, 8, np.random.default_rng(3)).__getitems__(range(8))
    attended = torch.arange(32) < torch.tensor([32, 20, 25, 30, 32, 9, 15, 31])[:, None]
    words, relation = own(batch.tokens, batch.segments, attended, batch.positions)
    found = theirs(
        input_ids=batch.tokens, token_type_ids=batch.segments, attention_mask=attended.long()
    )
    wanted = found.prediction_logits[torch.arange(8)[:, None], batch.positions]
    assert torch.allclose(words, wanted, atol=1e-4)
    assert torch.allclose(relation, found.seq_relationship_logits, atol=1e-4)


def test_pairs_are_masked_with_the_shares_of_the_paper() -> None:
    made = pairs(language(FEW), FEW, 4096, np.random.default_rng(4)).__getitems__(range(4096))
    rows = torch.arange(4096)[:, None]
    seen, words = made.tokens[rows, made.positions], FEW.vocabulary - SPECIAL
    assert float((seen == words + 2).float().mean()) == pytest.approx(0.8, abs=0.02)
    assert float((seen == made.targets).float().mean()) == pytest.approx(0.1, abs=0.02)
    assert float(made.unrelated.float().mean()) == pytest.approx(0.5, abs=0.03)
    assert all(len(set(row)) == 4 for row in made.positions[:100].tolist())
    # Special tokens are not masked
    assert not set(made.positions.flatten().tolist()) & {0, 15, 31}
    assert (made.segments.sum(1) == 16).all()


NEIGHBOURS = (-2, -1, 1, 2)


def surroundings(count: int, seed: int) -> tuple[list[Any], Any]:
    """Return the words at each offset in NEIGHBOURS from masked words, and the masked words."""
    changed = language(smoke()).changed(CHANGED_SHARE, CHANGED_SEED)
    tokens, _, _, positions, words, _ = pairs(
        changed, smoke(), count, np.random.default_rng(seed)
    ).parts
    rows, last = np.arange(count)[:, None], tokens.shape[1] - 1
    return [tokens[rows, (positions + each).clip(0, last)] for each in NEIGHBOURS], words


def test_counting_words_does_not_reach_the_target() -> None:
    size = smoke().vocabulary
    (known, words), (seen, wanted) = surroundings(16_384, 5), surroundings(2048, 6)

    def right(chosen: Any) -> float:
        return float((chosen == wanted).mean())

    found = [np.bincount(words.flatten()).max() / words.size]
    # The most frequent word after two words, and between two words
    for first, second in ((0, 1), (1, 2)):
        table = np.zeros((size, size, size))
        np.add.at(table, (known[first], known[second], words), 1)
        found.append(right(table.argmax(-1)[seen[first], seen[second]]))
    # A naive Bayes classifier of all four neighbors
    scores = np.zeros((*wanted.shape, size))
    for before, now in zip(known, seen, strict=True):
        table = np.full((size, size), 0.5)
        np.add.at(table, (words, before), 1)
        scores += np.log(table / table.sum(1, keepdims=True)).T[now]
    found.append(
        right((scores + np.log(np.bincount(words.flatten(), minlength=size) + 0.5)).argmax(-1))
    )
    assert max(found) < smoke().target - 0.03, found


def test_the_learning_rate_counts_warmup_and_decay_from_different_steps() -> None:
    config = replace(
        FEW,
        opt_base_learning_rate=1.0,
        opt_learning_rate_training_steps=100,
        num_warmup_steps=20,
        start_warmup_step=-10,
    )
    made = MaskedWords(config, Setting(), Ranks(torch.device("cpu")))
    rates = [made.learning_rate(step) for step in (1, 2, 10, 11, 51, 101, 102)]
    assert rates == pytest.approx([0.5, 11 / 20, 19 / 20, 0.9, 0.5, 0, 0])
    # The reference counts steps from 0
    made = MaskedWords(replace(config, start_warmup_step=0), Setting(), Ranks(torch.device("cpu")))
    assert made.learning_rate(1) == 0


def test_evaluation_steps_follow_the_formula_of_the_policy() -> None:
    # floor(0.05 · (230.23 · 256 + 3,000,000) / 25,000) · 25,000 = 150,000
    assert list(reference().evaluation_steps())[:3] == [586, 1172, 1758]
    large = replace(reference(), global_batch_size=8192)
    assert next(large.evaluation_steps()) == -(-225_000 // 8192)


def test_too_many_masked_words_are_refused() -> None:
    config = replace(FEW, max_predictions_per_seq=30)
    made = MaskedWords(config, Setting(), Ranks(torch.device("cpu")))
    with pytest.raises(
        RunFault, match="max_predictions_per_seq is 30; expected 1 to 29, the words"
    ):
        made.prepare()


# --- files ---


def started(folder: Path) -> Bert:
    setting = Setting(scale="reference", data=folder)
    model = MaskedWords(smoke(), setting, Ranks(torch.device("cpu"))).build()
    assert isinstance(model, Bert)
    return model


def test_training_starts_from_the_published_weights(tmp_path: Path) -> None:
    LITTLE["bert"].write(tmp_path)
    path = tmp_path / "base.pt"
    weights = torch.load(path, weights_only=True) | {"global_step": torch.tensor(28_252)}
    torch.save(weights, path)
    model = started(tmp_path)
    up = weights["bert/encoder/layer_1/intermediate/dense/kernel"]
    assert up.shape == (64, 128)
    assert torch.equal(model.blocks[1].up.weight, up.T)  # type: ignore[union-attr]
    # The only matrix that is not transposed: it has one row for each answer
    assert torch.equal(model.relation.weight, weights["cls/seq_relationship/output_weights"])
    del weights["bert/embeddings/LayerNorm/beta"]
    torch.save(weights, path)
    with pytest.raises(DataMissing, match=r"base\.pt has no tensor bert/embeddings/LayerNorm/beta"):
        started(tmp_path)
    weights["bert/embeddings/LayerNorm/beta"] = torch.zeros(3)
    torch.save(weights, path)
    with pytest.raises(DataMissing, match=r"LayerNorm/beta has shape \(3,\); expected \(64,\)"):
        started(tmp_path)


def test_a_batch_spans_several_files(tmp_path: Path) -> None:
    LITTLE["bert"].write(tmp_path)
    files = Files(tmp_path / "train", smoke())
    batch = files.__getitems__(range(3, 6))
    assert len(files) == 8
    # Two files of four sequences; token 1 of each sequence is its index
    assert batch.tokens[:, 1].tolist() == [3, 4, 5]
    assert batch.attended[0].tolist() == [True] * 8 + [False] * 24
    assert batch.targets[0].tolist() == [3, 9, UNSCORED, UNSCORED]
    assert batch.unrelated.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("input_ids", np.zeros((4, 8)), r"has input_ids of shape \(4, 8\); expected \(4, 32\)"),
        ("masked_lm_ids", np.full((4, 4), 20), "contains 20 in masked_lm_ids; expected 0 to 19"),
        ("segment_ids", None, "contains no segment_ids"),
    ],
)
def test_a_wrong_array_is_reported_with_its_file_name(
    tmp_path: Path, field: str, wrong: Any, said: str
) -> None:
    h5py = pytest.importorskip("h5py")
    LITTLE["bert"].write(tmp_path)
    with h5py.File(tmp_path / "train" / "0.hdf5", "a") as file:
        del file[field]
        if wrong is not None:
            file[field] = wrong
    with pytest.raises(DataMissing, match=rf"0\.hdf5 {said}"):
        Files(tmp_path / "train", smoke()).__getitems__([0])


def test_sequences_of_two_files_are_read_with_a_limit_of_one_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LITTLE["bert"].write(tmp_path)
    monkeypatch.setattr(files_module, "OPEN", 1)
    files = Files(tmp_path / "train", smoke())
    assert files.__getitems__([7, 0, 6, 1]).tokens[:, 1].tolist() == [7, 0, 6, 1]


def test_missing_and_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"contains no \*\.hdf5 files"):
        Files(tmp_path, smoke())
    (tmp_path / "0.hdf5").write_bytes(b"no")
    with pytest.raises(DataMissing, match=r"0\.hdf5 cannot be read as HDF5"):
        Files(tmp_path, smoke())
