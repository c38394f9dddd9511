"""DLRM-DCNv2: published size, sparse gradients, evaluation steps, files and meshes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.compliance.cli.entry import run  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_dcnv2.config import (  # noqa: E402
    BENCHMARKS,
    IDS,
    ROWS,
    reference,
    smoke,
)
from podium.reference_runs.benchmarks.dlrm_dcnv2.data import DayFiles  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_dcnv2.model import DlrmDcn  # noqa: E402
from podium.reference_runs.benchmarks.dlrm_dcnv2.train import CrossedClickPrediction  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing, RunFault  # noqa: E402
from podium.reference_runs.modeling.clicks import ClickModel  # noqa: E402
from tests.reference_runs.laws import reaches_every_parameter  # noqa: E402

(BENCHMARK,) = BENCHMARKS
PERCEPTRONS_AND_CROSS = 171_392 + 10_627_200 + 5_245_953
"""Bottom 13-512-256-128, three cross layers of rank 512 on 3456, top 1024-1024-512-256-1."""


def test_the_reference_model_has_the_published_shapes() -> None:
    with torch.device("meta"):
        model = DlrmDcn(reference())
    total = sum(p.numel() for p in model.parameters())
    assert total == sum(ROWS) * 128 + PERCEPTRONS_AND_CROSS == 26_151_671_809
    assert len(ROWS) == len(IDS) == 26
    assert sum(IDS) == 214


def test_a_step_gives_every_parameter_a_gradient() -> None:
    config = smoke().with_settings({"train_samples": "2048", "eval_samples": "256"})
    task = CrossedClickPrediction(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    model = task.build()
    loss = reaches_every_parameter(task, model)
    assert loss.items == config.global_batch_size
    assert 0 <= task.evaluate(model) <= 1


def test_sparse_gradients_equal_dense_gradients() -> None:
    grads = []
    for sparse in ("False", "True"):
        config = smoke().with_settings({"train_samples": "512", "sparse_gradients": sparse})
        task = CrossedClickPrediction(config, Setting(), Ranks(torch.device("cpu")))
        task.prepare()
        torch.manual_seed(1)
        model = task.build()
        task.loss(model, next(task.batches(1, 0))).total.backward()
        grads.append([p.grad.to_dense() for p in model.parameters()])
    for dense, sparse in zip(*grads, strict=True):
        assert torch.allclose(dense, sparse, rtol=1e-4, atol=1e-4)


def test_sparse_gradients_are_refused_on_several_cuda_ranks() -> None:
    ranks = Ranks(torch.device("cuda"), rank=0, world=2)
    with pytest.raises(RunFault, match="sparse_gradients"):
        CrossedClickPrediction(reference(), Setting(scale="reference"), ranks).prepare()


def test_the_reference_evaluates_twenty_times_in_its_only_epoch() -> None:
    steps = list(reference().evaluation_steps())
    assert steps == [n * math.floor(4_195_197_692 / (65_536 * 20)) for n in range(1, 21)]


def test_the_click_rate_of_a_single_feature_does_not_reach_the_target() -> None:
    from torchmetrics.functional.classification import binary_auroc

    clicks = ClickModel(smoke().rows).draw(20_000, smoke().ids, [1])
    labels = torch.from_numpy(clicks.labels).int()
    counts = [np.bincount(bag[:, 0], clicks.labels) for bag in clicks.ids]
    seen = [np.bincount(bag[:, 0]).clip(1) for bag in clicks.ids]
    for bag, clicked, times in zip(clicks.ids, counts, seen, strict=True):
        rate = torch.from_numpy((clicked / times)[bag[:, 0]])
        assert float(binary_auroc(rate, labels)) < 0.75 < smoke().target


TWO_TABLES = smoke().with_settings({"rows": "(3, 3)", "ids": "(3, 2)"})


def _days(folder: Path, count: int, samples: int) -> None:
    rng = np.random.default_rng(0)
    for day in range(count):
        np.save(folder / f"day_{day}_dense.npy", rng.random((samples, 13), np.float32))
        np.save(folder / f"day_{day}_labels.npy", rng.integers(0, 2, (samples, 1), np.int32))
        tables = {
            str(n): rng.integers(0, 3, (samples, each)).astype(np.int32)
            for n, each in enumerate((3, 2))
        }
        np.savez(folder / f"day_{day}_sparse_multi_hot.npz", **tables)


def test_a_batch_across_two_days_has_the_rows_of_both_days(tmp_path: Path) -> None:
    _days(tmp_path, 2, 10)
    days = DayFiles(tmp_path, range(2), TWO_TABLES)
    dense, ids, labels = days.__getitems__(range(8, 13))
    assert len(days) == 20
    assert (dense.shape, ids[0].shape, ids[1].shape) == ((5, 13), (5, 3), (5, 2))
    for day, own, row in ((0, 8, 0), (0, 9, 1), (1, 0, 2), (1, 2, 4)):
        with np.load(tmp_path / f"day_{day}_sparse_multi_hot.npz") as archive:
            assert np.array_equal(ids[0][row], archive["0"][own])
        assert dense[row, 0] == np.load(tmp_path / f"day_{day}_dense.npy")[own, 0]
        assert labels[row] == np.load(tmp_path / f"day_{day}_labels.npy")[own, 0]


def test_half_of_an_odd_day_is_rounded_up(tmp_path: Path) -> None:
    _days(tmp_path, 1, 7)
    assert len(DayFiles(tmp_path, range(1), TWO_TABLES, share=0.5)) == 4


def test_a_missing_or_compressed_day_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"day_0_dense\.npy cannot be read"):
        DayFiles(tmp_path, range(1), TWO_TABLES)
    _days(tmp_path, 1, 4)
    np.savez_compressed(tmp_path / "day_0_sparse_multi_hot.npz", **{"0": np.zeros((4, 3))})
    with pytest.raises(DataMissing, match="compressed"):
        DayFiles(tmp_path, range(1), TWO_TABLES)


@pytest.mark.parametrize(
    ("file", "wrong", "said"),
    [
        ("dense.npy", np.zeros((4, 12)), r"has shape \(4, 12\); expected \(4, 13\)"),
        ("multi_hot.npz", {"0": np.zeros((4, 3), np.int32)}, "contains 1 tables; expected 2"),
        (
            "multi_hot.npz",
            {"0": np.zeros((4, 3), np.int32), "1": np.zeros((4, 4), np.int32)},
            r"has a table 1 of shape \(4, 4\); expected \(4, 2\)",
        ),
        (
            "multi_hot.npz",
            {"0": np.zeros((4, 3), np.int32), "1": np.full((4, 2), 3, np.int32)},
            "contains the id 3 in table 1; expected 0 to 2",
        ),
    ],
)
def test_a_wrong_array_of_a_day_is_reported_with_its_file_name(
    tmp_path: Path, file: str, wrong: Any, said: str
) -> None:
    _days(tmp_path, 1, 4)
    path = next(tmp_path.glob(f"*{file}"))
    np.savez(path, **wrong) if isinstance(wrong, dict) else np.save(path, wrong)
    with pytest.raises(DataMissing, match=f"{file} {said}"):
        DayFiles(tmp_path, range(1), TWO_TABLES).__getitems__(range(4))


# --- device meshes ---


def test_sharded_initial_weights_have_the_distribution_of_the_whole_model() -> None:
    task = CrossedClickPrediction(smoke(), Setting(), Ranks(torch.device("cpu")))
    torch.manual_seed(1)
    whole = DlrmDcn(smoke())
    first = task.initial_weights(whole)
    for name, own in whole.state_dict().items():
        made = first(name, own.shape)
        assert made.shape == own.shape
        if own.numel() > 500:
            assert float(made.std()) == pytest.approx(float(own.std()), rel=0.1), name
        assert bool(made.any()) == bool(own.any()), name


def test_sparse_gradients_are_refused_with_a_mesh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--mesh", "fsdp=2", "--set", "sparse_gradients=True", "--output", str(tmp_path))
    assert run(["run", "dlrm_dcnv2", *words]) == 2
    assert "--mesh requires --set sparse_gradients=False" in capsys.readouterr().err
