"""Attention of query heads that share keys."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from podium.reference_runs.modeling.attention import attend, for_each_head  # noqa: E402


def test_shared_and_repeated_keys_and_values_give_equal_attention() -> None:
    q, k, v = (torch.randn(2, heads, 16, 8, dtype=torch.float64) for heads in (6, 2, 2))
    repeated = [for_each_head(x, 6) for x in (k, v)]
    assert all(x.shape == q.shape for x in repeated)
    torch.testing.assert_close(attend(q, *repeated), attend(q, k, v))


def test_heads_that_are_not_shared_are_not_copied() -> None:
    k = torch.randn(2, 6, 16, 8)
    assert for_each_head(k, 6) is k
