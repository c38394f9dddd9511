"""DLRM: published size, feature interaction, schedule and the binary files of the reference."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.benchmarks.dlrm.config import MOST_ROWS, ROWS, reference, smoke  # noqa: E402
from podium.reference_runs.benchmarks.dlrm.data import ClickFile  # noqa: E402
from podium.reference_runs.benchmarks.dlrm.model import DotDlrm  # noqa: E402
from podium.reference_runs.benchmarks.dlrm.train import DotClickPrediction  # noqa: E402
from podium.reference_runs.engine.config import Unit  # noqa: E402
from podium.reference_runs.engine.progress import block_at, position  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402
from podium.reference_runs.errors import DataMissing  # noqa: E402
from tests.reference_runs.laws import reaches_every_parameter  # noqa: E402

PERCEPTRONS = 171_392 + 2_197_505
"""Bottom 13-512-256-128; top 479-1024-1024-512-256-1 on 351 pairs and the bottom's output."""


def test_the_reference_model_has_the_published_shapes() -> None:
    with torch.device("meta"):
        model = DotDlrm(reference())
    assert sum(ROWS) == 187_767_399
    total = sum(p.numel() for p in model.parameters())
    assert total == sum(ROWS) * 128 + PERCEPTRONS == 24_036_595_969


def test_a_step_gives_every_parameter_a_gradient() -> None:
    config = smoke().with_settings({"train_samples": "2048", "eval_samples": "256"})
    task = DotClickPrediction(config, Setting(), Ranks(torch.device("cpu")))
    task.prepare()
    model = task.build()
    loss = reaches_every_parameter(task, model)
    assert loss.items == config.global_batch_size
    assert 0 <= task.evaluate(model) <= 1


def test_the_top_receives_the_dot_product_of_each_pair_once() -> None:
    torch.manual_seed(1)
    model = DotDlrm(smoke())
    seen: list[torch.Tensor] = []
    model.top.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    dense = torch.rand(2, 13)
    ids = [torch.zeros(2, 1, dtype=torch.int64) for _ in smoke().rows]
    model(dense, ids)
    vectors = [model.bottom(dense), *(table.weight[0].expand(2, -1) for table in model.tables)]
    products = [(a * b).sum(-1) for a, b in combinations(vectors, 2)]
    (top,) = seen
    assert torch.allclose(top[:, :16], vectors[0])
    expected = torch.stack(products, 1).sort(1).values
    assert torch.allclose(top[:, 16:].sort(1).values, expected, atol=1e-6)


def test_the_learning_rate_rises_stays_constant_and_decays_quadratically() -> None:
    task = DotClickPrediction(reference(), Setting(), Ranks(torch.device("cpu")))
    rates = [task.learning_rate(step) for step in (4000, 8000, 69_999, 85_000, 100_000, 120_000)]
    assert rates == pytest.approx([9.0, 18.0, 18.0, 18 / 4, 1e-7, 1e-7])


def test_epoch_numbers_start_at_0_in_round_1_0_and_at_1_in_round_2_1() -> None:
    config = reference()
    assert config.unit_in("1.0") is Unit.FRACTIONS
    steps = next(config.evaluation_steps())
    share = steps * config.global_batch_size / config.train_samples
    for each, first in (("1.0", 0), ("2.1", 1)):
        setting = Setting(round=each)
        assert position(config, setting, steps) == {"epoch_num": first + share}
        block = {"first_epoch_num": first, "epoch_count": share}
        assert block_at(config, setting, 0, steps) == block


def clicks(path: Path, count: int = 4) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = np.zeros((count, 14 + len(smoke().rows)), "<i4")
    rows[:, 0] = np.arange(count) % 2
    rows[:, 1:14] = rng.integers(0, 9, (count, 13))
    rows[:, 14:] = rng.integers(0, 3, (count, len(smoke().rows)))
    rows.tofile(path)
    return rows


def test_files_are_read_as_the_reference_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "clicks.bin"
    rows = clicks(path)
    rows[1, 14] += MOST_ROWS
    rows.tofile(path)
    file = ClickFile(path, smoke())
    dense, ids, labels = file.__getitems__([3, 1])
    assert len(file) == 4
    assert labels.tolist() == [1.0, 1.0]
    assert torch.allclose(dense, torch.from_numpy(np.log1p(rows[[3, 1], 1:14])).float())
    assert [each.tolist() for each in ids[:1]] == [[[rows[3, 14]], [rows[1, 14] - MOST_ROWS]]]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (1, -1, "contains the count -1; expected 0 or more"),
        (14, 60, "contains the id 60 in table 0; expected 0 to 59"),
        (21, -2, "contains the id -2 in table 7; expected 0 to 2"),
    ],
)
def test_wrong_numbers_are_reported(tmp_path: Path, column: int, value: int, said: str) -> None:
    path = tmp_path / "clicks.bin"
    rows = clicks(path)
    rows[2, column] = value
    rows.tofile(path)
    with pytest.raises(DataMissing, match=said):
        ClickFile(path, smoke()).__getitems__(range(4))


def test_a_missing_file_and_a_file_of_the_wrong_size_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "clicks.bin"
    with pytest.raises(DataMissing, match=r"clicks\.bin cannot be read"):
        ClickFile(path, smoke())
    np.zeros(23, "<i4").tofile(path)
    with pytest.raises(DataMissing, match="contains 23 integers; expected a multiple of 22"):
        ClickFile(path, smoke())
