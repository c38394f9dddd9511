"""NCF: published size, negatives, held-out items, hit rate and ratings files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.ncf.config import reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.ncf.data import Pairs, candidates, from_ratings, synthetic  # noqa: E402
from podium.reference_runs.benchmarks.ncf.model import NeuMF  # noqa: E402
from podium.reference_runs.benchmarks.ncf.train import Filtering  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402

PUBLISHED = 31_832_577
"""Parameters of NeuMF on MovieLens-20M: embeddings of 64 and 128, layers 256, 256, 128, 64."""


def test_the_reference_model_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = NeuMF(reference())
    assert sum(p.numel() for p in model.parameters()) == PUBLISHED


def test_a_step_gives_every_parameter_a_gradient() -> None:
    task = Filtering(smoke(), Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    model = task.build()
    batch = next(task.batches(1, 0))
    loss = task.loss(model, batch)
    loss.total.backward()
    assert loss.items == smoke().global_batch_size
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_a_negative_is_not_an_item_of_the_user() -> None:
    known = synthetic(50, 80, 50 * 12, seed=3)
    pairs = Pairs(known, 4, seed=3, shuffled=False)
    pairs.set_epoch(1)
    user, item, label = (part.numpy() for part in pairs.__getitems__(range(len(pairs))))
    taken = set(zip(known.user, known.item, strict=True))
    for u, i, positive in zip(user, item, label, strict=True):
        assert ((u, i) in taken) == (positive == 1)


def test_held_out_items_are_not_trained_on_and_come_first_among_candidates() -> None:
    known = synthetic(50, 80, 50 * 12, seed=3)
    assert not (known.item == known.held_out[known.user]).any()
    rows = candidates(known, 20)
    assert np.array_equal(rows.item[:, 0].numpy(), known.held_out)
    for row, repeated in zip(rows.item.tolist(), rows.repeated.tolist(), strict=True):
        kept = [item for item, again in zip(row, repeated, strict=True) if not again]
        assert sorted(kept) == sorted(set(row))


def test_negatives_change_with_the_epoch_and_are_reproducible() -> None:
    known = synthetic(50, 80, 50 * 12, seed=3)
    drawn = []
    for epoch in (1, 2, 1):
        pairs = Pairs(known, 4, seed=3, shuffled=False)
        pairs.set_epoch(epoch)
        drawn.append(pairs.__getitems__(range(len(pairs)))[1])
    assert torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[1])


class _Oracle(torch.nn.Module):
    """A model that scores the held-out item highest, except for the first `wrong` users."""

    def __init__(self, held_out: torch.Tensor, wrong: int) -> None:
        super().__init__()
        self.held_out, self.wrong = held_out, wrong

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        right = (item == self.held_out[user]).float()
        return torch.where(user < self.wrong, -right, right)


def test_the_quality_is_the_share_of_users_with_their_item_in_the_top_10() -> None:
    task = Filtering(smoke(), Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    held_out = task.evaluation.item[:, 0]
    assert task.evaluate(_Oracle(held_out, 0)) == 1.0
    assert task.evaluate(_Oracle(held_out, 500)) == pytest.approx(1 - 500 / 2000)


def test_ratings_are_read_and_the_latest_of_each_user_is_held_out(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n7,30,3.5,100\n7,10,4.0,300\n7,20,1.0,200\n9,10,5.0,50\n"
    )
    config = replace(reference(), users=2, items=3)
    known = from_ratings(tmp_path, config, DatasetSize(10, 2))
    assert known.held_out.tolist() == [0, 0]
    assert sorted(zip(known.user.tolist(), known.item.tolist(), strict=True)) == [(0, 1), (0, 2)]
    with pytest.raises(DataMissing, match=r"contains 10 pairs, 5 for each rating; expected 15"):
        from_ratings(tmp_path, config, DatasetSize(15, 2))
    with pytest.raises(DataMissing, match="contains 3 items; expected 4"):
        from_ratings(tmp_path, replace(config, items=4), DatasetSize(10, 2))
    few = replace(config, users=1)
    with pytest.raises(DataMissing, match="contains 2 users; expected 1"):
        from_ratings(tmp_path, few, DatasetSize(10, 2, exactly=False))


HEADER = "userId,movieId,rating,timestamp\n"


@pytest.mark.parametrize("text", ["", HEADER, f"{HEADER}a,b,c,d\n"])
def test_missing_or_broken_ratings_are_reported_with_their_file_name(
    tmp_path: Path, text: str
) -> None:
    if text:
        (tmp_path / "ratings.csv").write_text(text)
    with pytest.raises(DataMissing, match=r"ratings\.csv"):
        from_ratings(tmp_path, reference(), DatasetSize(10, 2, exactly=False))
