"""Text CNN: size, padding, synthetic texts, quality and the files of IMDB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.sentiment.config import Sentiment, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.sentiment.data import Reviews, from_files, synthetic, write  # noqa: E402
from podium.reference_runs.benchmarks.sentiment.model import OTHER, PAD, TextCnn  # noqa: E402
from podium.reference_runs.benchmarks.sentiment.train import Classification  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402

SHAPES = 5147 * 1024 + (3 + 4) * 1024**2 + 2 * 1024 + 2 * 1024 * 2 + 2
"""Embedding, filters over 3 and 4 words, and two classes. The draft does not state the total."""


def task(config: Sentiment | None = None) -> Classification:
    made = Classification(config or smoke(), Setting(), Ranks(torch.device("cpu")))
    made.prepare()
    return made


def test_the_reference_model_has_the_shapes_of_the_draft() -> None:
    with torch.device("meta"):
        model = TextCnn(reference())
    assert sum(p.numel() for p in model.parameters()) == SHAPES


def test_a_step_gives_every_parameter_a_gradient() -> None:
    trained = task()
    model = trained.build()
    loss = trained.loss(model, next(trained.batches(1, 0)))
    loss.total.backward()
    assert loss.total.item() / loss.items == pytest.approx(0.69, abs=0.1)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_scores_do_not_depend_on_padding() -> None:
    torch.manual_seed(1)
    model = TextCnn(smoke())
    words = torch.randint(2, 200, (3, 25))
    wider = torch.nn.functional.pad(words, (0, 30), value=PAD)
    assert torch.allclose(model(words), model(wider), atol=1e-6)
    assert not torch.allclose(model(words), model(words.flip(1)), atol=1e-4)


def bag_of_words(training: Reviews, evaluation: Reviews, vocabulary: int) -> float:
    """Return the accuracy of the best linear classifier of word counts, by least squares."""

    def counts(reviews: Reviews) -> np.ndarray:
        return np.stack([np.bincount(text, minlength=vocabulary) for text in reviews.texts])

    wanted = training.labels * 2.0 - 1
    penalty = 3.0 * np.eye(vocabulary)
    table = counts(training).astype(float)
    weights = np.linalg.solve(table.T @ table + penalty, table.T @ wanted)
    return float(((counts(evaluation) @ weights > 0) == (evaluation.labels == 1)).mean())


def test_counting_words_does_not_reach_the_target() -> None:
    training, evaluation = synthetic(smoke(), seed=1)
    assert 0.55 < bag_of_words(training, evaluation, 202) < smoke().target - 0.05


def test_texts_are_balanced_and_the_same_for_the_same_seed() -> None:
    first, again = (write(500, 202, np.random.default_rng(3)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first.texts, again.texts, strict=True))
    assert 0.4 < first.labels.mean() < 0.6
    assert {len(text) for text in first.texts} <= set(range(20, 61))


def test_shuffled_labels_are_a_permutation_of_the_labels() -> None:
    plain, shuffled = task().training, task(replace(smoke(), shuffled_labels=True)).training
    assert sorted(plain.labels) == sorted(shuffled.labels)
    assert (plain.labels != shuffled.labels).mean() > 0.3


def test_the_quality_is_the_share_of_correct_answers() -> None:
    trained = task()

    class Favourable(torch.nn.Module):
        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return torch.tensor([0.0, 1.0]).expand(len(words), 2)

    assert trained.evaluate(Favourable()) == pytest.approx(trained.evaluation.labels.mean())


def imdb(folder: Path) -> None:
    for part in ("train", "test"):
        for opinion, text in (("pos", "A Good film<br />truly"), ("neg", "a bad, BAD film")):
            (folder / part / opinion).mkdir(parents=True)
            for number in range(2):
                (folder / part / opinion / f"{number}.txt").write_text(text)


def test_reviews_are_read_with_the_most_frequent_words(tmp_path: Path) -> None:
    imdb(tmp_path)
    training, evaluation = from_files(tmp_path, 5, DatasetSize(4, 4))
    assert training.labels.tolist() == evaluation.labels.tolist() == [0, 0, 1, 1]
    assert training.texts[0].tolist() == [2, 3, 3, 4]  # a, bad and film occur four times each
    assert training.texts[2].tolist() == [2, OTHER, 4, OTHER]


def test_missing_and_unreadable_reviews_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="train contains 0 reviews in neg and pos; expected 4"):
        from_files(tmp_path, 5, DatasetSize(4, 4))
    imdb(tmp_path)
    with pytest.raises(DataMissing, match="test contains 4 reviews in neg and pos; expected 6"):
        from_files(tmp_path, 5, DatasetSize(4, 6))
    (tmp_path / "train" / "neg" / "0.txt").write_bytes(b"\xff")
    with pytest.raises(DataMissing, match=r"neg/0\.txt cannot be read"):
        from_files(tmp_path, 5, DatasetSize(4, 4))
