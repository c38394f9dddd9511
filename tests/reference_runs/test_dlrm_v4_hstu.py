"""DLRMv4: published tables, layers, order of the stream, hashes and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torchmetrics.functional.classification import binary_auroc  # noqa: E402

from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import DlrmV4, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_v4_hstu.data import (  # noqa: E402
    COLUMNS,
    DAY,
    Batch,
    Plays,
)
from podium.reference_runs.benchmarks.dlrm_v4_hstu.files import CACHE, from_files  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_v4_hstu.hashing import crossed  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_v4_hstu.model import DlrmHstu, Layer  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_v4_hstu.synthetic import STYLES, synthetic  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_v4_hstu.train import PlayPrediction  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.samples import DatasetSize  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from tests.reference_runs.datasets import LITTLE  # noqa: E402

ROWS = (9_390_624 + 1_293_395 + 3_367_692 + 1_000_001) + (100 + 40 + 24 + 40 + 32 + 2 + 40) * 10**6
"""Rows of the published tables: items, artists, albums, users and seven crosses."""


def few(**changes: Any) -> DlrmV4:
    return replace(smoke(), days=2, train_samples=2 * 2048, **changes)


@pytest.fixture(scope="module")
def stream() -> tuple[Plays, Plays]:
    return synthetic(few())


def test_the_reference_model_has_the_published_shapes() -> None:
    with torch.device("meta"):
        model = DlrmHstu(reference())
    total = sum(p.numel() for p in model.parameters())
    norm = 2 * 512
    layer = norm + 512 * 2048 + 2048 + norm + 1536 * 512
    item, origin, action = (
        inputs * 256 + 256 + 512 + 256 * 512 + 512 + norm for inputs in (512, 1024, 24)
    )
    contexts = 8 * (512 * 512 + 512)
    positions = (8192 + 2049) * 512
    asked = 516 * 512 + 512 + norm
    candidate = 1536 * 512 + 512 + norm + 512 * 512 + 512 + norm
    head = 512 * 512 + 512 + norm + 512 + 1
    dense = 3 * layer + item + origin + action + 48 + contexts + positions + asked
    assert total == ROWS * 512 + dense + candidate + head == 150_057_719_601


def test_every_parameter_gets_a_gradient_and_all_but_tables_are_clipped(
    stream: tuple[Plays, Plays],
) -> None:
    task = PlayPrediction(few(), Setting(), Ranks(torch.device("cpu")))
    task.training, task.evaluation = stream
    torch.manual_seed(1)
    model = task.build()
    task.optimizers(model)
    loss = task.loss(model, next(task.batches(1, 0)))
    (1e6 * loss.total).backward()
    named = dict(model.named_parameters())
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in named.values())
    before = named["tables.0.weight"].grad.clone()
    task.clip(list(model.parameters()))
    norms = [p.grad.norm() for name, p in named.items() if not name.startswith("tables.")]
    assert float(torch.stack(norms).norm()) == pytest.approx(1.0, rel=1e-3)
    assert torch.equal(named["tables.0.weight"].grad, before)


def test_a_layer_computes_its_formula() -> None:
    config = few(heads=1, head_width=3, width=4, max_sequence_length=10)
    torch.manual_seed(2)
    layer, x = Layer(config), torch.randn(1, 5, 4)
    u, v, q, k = layer.uvqk(layer.norm(x))[0].chunk(4, dim=-1)
    silu = torch.nn.functional.silu
    for at in range(5):
        scores = [silu(q[at] @ k[other] / 3**0.5) / 10 for other in range(at + 1)]
        heard = sum(score * v[other] for other, score in enumerate(scores))
        gated = silu(u[at]) * layer.attention_norm(heard)
        wanted = x[0, at] + layer.out(torch.cat((silu(u[at]), heard, gated)))
        assert torch.allclose(layer(x)[0, at], wanted, atol=1e-6)


def test_positions_after_the_play_do_not_change_its_score(stream: tuple[Plays, Plays]) -> None:
    torch.manual_seed(3)
    model = DlrmHstu(few()).eval()
    *parts, _ = stream[0].__getitems__(range(4))
    batch = Batch(*parts, torch.zeros(4))
    beyond = torch.arange(batch.events.shape[1]) > batch.candidate[:, None]
    assert beyond.any()
    other = batch._replace(
        events=torch.where(beyond[..., None], 1, batch.events),
        actions=torch.where(beyond, 4, batch.actions),
    )
    assert torch.equal(model(*batch[:-1]), model(*other[:-1]))


def test_training_days_are_in_order_and_evaluation_uses_the_next_day(
    stream: tuple[Plays, Plays],
) -> None:
    training, evaluation = stream
    times = training.__getitems__(range(len(training))).times.max(1).values.numpy()
    # The last event may be on the day before the play
    assert max(times[:2048]) <= min(times[:2048]) + 2 * DAY
    assert np.mean(times[:2048]) + DAY / 2 < np.mean(times[2048:])
    assert (training.day(2047), training.day(2048)) == (0, 1)
    task = PlayPrediction(few(), Setting(), Ranks(torch.device("cpu")))
    task.training, task.evaluation = training, evaluation
    model = task.build()
    for trained, day in ((1, 1), (32, 1), (33, 2), (64, 2)):
        task.after_step(model, trained)
        task.evaluate(model)
        assert (task.evaluation.first, len(task.evaluation)) == (day, 2048)


def test_a_history_contains_the_last_events_before_the_play(stream: tuple[Plays, Plays]) -> None:
    training, _ = stream
    events, config = training._events, few()
    batch = training.__getitems__(range(0, 4096, 37))
    for row in range(0, len(batch.labels), 9):
        count = int(batch.candidate[row])
        assert count <= config.history_length
        user = int(batch.contexts[row, 0])
        own = np.flatnonzero(events.user == user)
        # The play is the first event after the last event in the history
        last = own[events.time[own] == int(batch.times[row, count])]
        place = int(last.max()) + 1
        assert events.item[place] == batch.events[row, count, 0]
        assert bool(events.heard[place]) == bool(batch.labels[row])
        for bit, kind in ((1, events.heard), (2, events.liked), (4, events.skipped)):
            near = [at for at in own if at < place and kind[at]][-5:]
            found = batch.events[row, :count, 0][batch.actions[row, :count] == bit]
            assert found.tolist() == events.item[near].tolist()


def test_only_the_style_of_the_history_predicts_whether_a_track_is_heard(
    stream: tuple[Plays, Plays],
) -> None:
    batch = stream[0].__getitems__(range(4096))
    labels, rows = batch.labels.int(), torch.arange(4096)
    track = batch.events[rows, batch.candidate]
    # By item, artist, group of users, or how much was heard recently
    for ids in (track[:, 0], track[:, 1], batch.contexts[:, 0] // 8):
        counts, heard = torch.bincount(ids), torch.bincount(ids, batch.labels)
        assert float(binary_auroc((heard / counts.clip(1))[ids], labels)) < 0.65
    lately = (batch.actions == 1).sum(1) - (batch.actions == 4).sum(1)
    assert float(binary_auroc(lately.float(), labels)) < 0.65
    # The whole history predicts it: was the style heard or skipped before?
    style = batch.events[..., 1] % STYLES
    same = style == style[rows, batch.candidate][:, None]
    sign = (batch.actions == 1).float() - (batch.actions == 4).float()
    assert float(binary_auroc((same * sign).sum(1), labels)) > smoke().target + 0.05


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        # Values computed with xxhash 3
        ((1, 2), 5411092459628516524),
        ((5, 7, 9), 12370730702163243288),
        ((10**6, 9390623, 23), 17943603656563592977),
    ],
)
def test_crosses_are_hashed_with_xxh64(numbers: tuple[int, ...], wanted: int) -> None:
    assert crossed([np.array([each, 0]) for each in numbers])[0] == wanted


def test_the_reference_is_evaluated_at_the_steps_of_the_rules() -> None:
    steps = list(reference().evaluation_steps())
    assert steps[:2] == [7000, 7280]  # the 25th and 26th multiple of 280 batches
    half = replace(reference(), global_batch_size=32_768, last_step=9000)
    assert next(half.evaluation_steps()) == 41 * 70


# --- files ---


def read(folder: Path, **changes: Any) -> tuple[Plays, Plays]:
    config = replace(smoke(), days=1, train_samples=8, eval_samples=4, **changes)
    return from_files(folder, config, DatasetSize(8, 4))


def test_plays_are_read_by_day(tmp_path: Path) -> None:
    LITTLE["dlrm_v4_hstu"].write(tmp_path)
    training, evaluation = read(tmp_path)
    batch = training.__getitems__(range(8))
    assert batch.labels.tolist() == [1, 0] * 4
    assert batch.events[0, : int(batch.candidate[0]) + 1, 0].tolist() == [0, 1, 2, 3]
    assert batch.events[0, 3].tolist() == [3, 3, 1]
    assert len(evaluation) == 4


@pytest.mark.parametrize(
    ("file", "wrong", "said"),
    [
        (f"{CACHE}/flat_is_like.npy", np.zeros(3, bool), r"has shape \(3,\); expected \(24,\)"),
        (f"{CACHE}/anchor_ts_L4086.npy", np.zeros(3), r"has shape \(3,\); expected \(12,\)"),
        (f"{CACHE}/flat_item_ids.npy", np.full(24, 24), "contains the item 24; expected 0 to 23"),
        (f"{CACHE}/flat_uid.npy", np.full(24, 1024), "contains the user 1024; expected 0 to 1023"),
    ],
)
def test_wrong_events_are_reported_with_their_file_name(
    tmp_path: Path, file: str, wrong: Any, said: str
) -> None:
    LITTLE["dlrm_v4_hstu"].write(tmp_path)
    np.save(tmp_path / file, wrong)
    with pytest.raises(DataMissing, match=f"{Path(file).name} {said}"):
        read(tmp_path)[0].__getitems__(range(8))


def test_a_wrong_artist_table_and_a_missing_event_file_are_reported(tmp_path: Path) -> None:
    LITTLE["dlrm_v4_hstu"].write(tmp_path)
    with pytest.raises(DataMissing, match=r"artist_item_mapping\.parquet contains the artist 5"):
        read(tmp_path, rows=(24, 5, 6, 1024))
    (tmp_path / "shared_metadata" / "artist_item_mapping.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataMissing, match=r"artist_item_mapping\.parquet cannot be read"):
        read(tmp_path)
    (tmp_path / CACHE / f"{COLUMNS['liked']}.npy").unlink()
    with pytest.raises(DataMissing, match=r"flat_is_like\.npy cannot be read"):
        read(tmp_path)
