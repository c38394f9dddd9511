"""The order of samples depends on the seed and the epoch, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.catalogue import find, task_of  # noqa: E402
from podium.reference_runs.engine.order import Permutation  # noqa: E402
from podium.reference_runs.engine.ranks import Ranks  # noqa: E402
from podium.reference_runs.engine.setting import Setting  # noqa: E402


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 1000, 65_536])
def test_a_permutation_contains_every_number_once(count: int) -> None:
    found = Permutation(count, [1])
    assert len(found) == count
    assert np.array_equal(np.sort(found[:]), np.arange(count))
    assert [found[at] for at in (0, count // 2, -1)] == found[:][[0, count // 2, -1]].tolist()
    assert np.array_equal(found[1:count:2], found[:][1:count:2])


def test_different_seeds_give_uncorrelated_orders() -> None:
    count = 10_000
    first, second = (Permutation(count, [seed])[:] for seed in (1, 2))
    # A random order has about one fixed point, and as many ascents as descents
    for one, other in ((first, second), (first, np.arange(count)), (second, np.arange(count))):
        assert (one == other).sum() < 10
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.05
    assert abs((np.diff(first) > 0).mean() - 0.5) < 0.02


def test_a_part_of_an_order_of_billions_is_computed_on_demand() -> None:
    found = Permutation(1_574_207_408, [1, 1])[10**9 : 10**9 + 1000]
    assert len({*found.tolist()}) == 1000
    assert abs(found.mean() / 1_574_207_408 - 0.5) < 0.05


@pytest.mark.parametrize(
    "name",
    ["deepseekv3_671b", "gpt3", "gpt_oss_20b", "llama2_70b_lora", "llama31_405b", "llama31_8b"],
)
def test_language_models_have_another_order_for_each_seed_and_epoch(name: str) -> None:
    orders = []
    for seed, epoch in ((1, 1), (1, 1), (2, 1), (1, 2)):
        task = task_of(name)(find(name).smoke(), Setting(seed=seed), Ranks(torch.device("cpu")))
        orders.append([*task.order(epoch)[:64]])
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != orders[3]
    assert orders[0] != sorted(orders[0])
