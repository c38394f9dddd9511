"""LARS, LAMB and row-wise Adagrad against steps computed by hand."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.modeling.optimizers import LAMB, LARS, RowWiseAdagrad  # noqa: E402


def parameter(values: list[float], grads: list[float]) -> torch.nn.Parameter:
    weight = torch.nn.Parameter(torch.tensor(values, dtype=torch.float64))
    weight.grad = torch.tensor(grads, dtype=torch.float64)
    return weight


def test_lars_scales_gradient_and_decay_by_the_norm_of_the_weight() -> None:
    # |w| = 5, |g| = 10, so the local rate is 0.01 · 5 / (10 + 0.1 · 5) = 0.05 / 10.5.
    weight = parameter([3.0, 4.0], [6.0, 8.0])
    lars = LARS([weight], lr=2.0, momentum=0.5, weight_decay=0.1, trust_coefficient=0.01)
    lars.step()
    first = 2.0 * 0.05 / 10.5 * 6.3  # of the first number: gradient 6 and decay 0.1 · 3
    assert weight.tolist() == pytest.approx([3 - first, 4 - first * 4 / 3])


def test_lars_adds_half_of_the_previous_step_with_momentum_0_5() -> None:
    weight = parameter([3.0, 4.0], [6.0, 8.0])
    lars = LARS([weight], lr=2.0, momentum=0.5, trust_coefficient=0.01)
    lars.step()
    step = 2.0 * 0.01 * 5 / 10 * 6  # 0.06; the second step starts from |w| = 4.9
    assert weight[0].item() == pytest.approx(3 - step)
    lars.step()
    again = 2.0 * 0.01 * 4.9 / 10 * 6 + 0.5 * step
    assert weight[0].item() == pytest.approx(3 - step - again)


def test_lars_does_not_adapt_excluded_parameters_and_zero_weights() -> None:
    excluded, zero = parameter([3.0], [2.0]), parameter([0.0], [2.0])
    LARS([{"params": [excluded], "adapt": False}], lr=0.1, weight_decay=0.0).step()
    LARS([zero], lr=0.1).step()
    assert excluded.item() == pytest.approx(2.8)
    assert zero.item() == pytest.approx(-0.2)


def test_the_lamb_step_is_the_rate_times_the_norm_of_the_weight() -> None:
    # In the first step, Adam's direction is the sign of the gradient.
    weight = parameter([3.0, 4.0], [0.5, -7.0])
    LAMB([weight], lr=0.1, eps=0.0).step()
    each = 0.1 * 5 / math.sqrt(2)
    assert weight.tolist() == pytest.approx([3 - each, 4 + each])


def test_lamb_scales_the_weight_decay_with_the_step() -> None:
    # The direction (1, 1) plus the decay 0.5 · (3, 4) is (2.5, 3).
    weight = parameter([3.0, 4.0], [1.0, 1.0])
    LAMB([weight], lr=0.1, eps=0.0, weight_decay=0.5).step()
    rate = 0.1 * 5 / math.hypot(2.5, 3)
    assert weight.tolist() == pytest.approx([3 - rate * 2.5, 4 - rate * 3])


def test_lamb_without_adaptation_is_adam_with_decoupled_decay() -> None:
    torch.manual_seed(3)
    start, grads = torch.randn(4, 3), torch.randn(5, 4, 3)
    weights = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    lamb = LAMB([{"params": [weights[0]], "adapt": False}], lr=0.01, eps=1e-8, weight_decay=0.1)
    adam = torch.optim.AdamW([weights[1]], lr=0.01, eps=1e-8, weight_decay=0.1)
    for grad in grads:
        for weight, optimizer in zip(weights, (lamb, adam), strict=True):
            weight.grad = grad.clone()
            optimizer.step()
    # AdamW decays before its step and LAMB in it: the difference is of second order in the rate.
    assert torch.allclose(weights[0], weights[1], atol=1e-4)
    assert not torch.allclose(weights[0], start, atol=1e-2)


def test_row_wise_adagrad_has_one_rate_per_row() -> None:
    weight = torch.nn.Parameter(torch.zeros(3, 2, dtype=torch.float64))
    adagrad = RowWiseAdagrad([weight], lr=0.1, eps=0.0)
    weight.grad = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    weight.grad[1] = 1e-9
    adagrad.step()
    # The mean square of (3, 4) is 12.5
    first = torch.tensor([3.0, 4.0], dtype=torch.float64) * 0.1 / math.sqrt(12.5)
    assert torch.allclose(weight[0], -first)
    adagrad.step()
    assert torch.allclose(weight[0], -first - first / math.sqrt(2))
    assert torch.allclose(weight[2], weight[1])


def test_row_wise_adagrad_steps_equally_with_sparse_and_dense_gradients() -> None:
    torch.manual_seed(4)
    tables = [torch.nn.EmbeddingBag(5, 3, mode="sum", sparse=sparse) for sparse in (False, True)]
    tables[1].load_state_dict(tables[0].state_dict())
    start = tables[0].weight.detach().clone()
    optimizers = [RowWiseAdagrad(each.parameters(), lr=0.1) for each in tables]
    for ids in ([[1, 1], [2, 3]], [[3, 1], [3, 3]]):
        for table, optimizer in zip(tables, optimizers, strict=True):
            optimizer.zero_grad()
            table(torch.tensor(ids)).square().sum().backward()
            optimizer.step()
    assert torch.allclose(tables[0].weight, tables[1].weight, atol=1e-6)
    moved = (tables[0].weight != start).any(1)
    assert moved.tolist() == [False, True, True, True, False]
