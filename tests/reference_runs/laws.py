"""Checks that apply to every model of a kind, in any trainer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from podium.reference_runs.modeling.beams import PAD


def reaches_every_parameter(task: Any, model: nn.Module) -> Any:
    """Return the loss of one step, and check that every parameter gets a gradient."""
    loss = task.loss(model, next(task.batches(1, 0)))
    loss.total.backward()
    lacking = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert lacking == []
    return loss


def predicts_from_the_past(model: nn.Module) -> None:
    """Check that a translator's scores of a word do not depend on later words or padding."""
    source, target = torch.randint(2, 120, (3, 7)), torch.randint(2, 120, (3, 9))
    scores = model(source, target)
    changed = target.clone()
    changed[:, 5:] = 3
    assert torch.allclose(scores[:, :6], model(source, changed)[:, :6], atol=1e-5)
    assert not torch.allclose(scores[:, 6:], model(source, changed)[:, 6:], atol=1e-3)
    wider = nn.functional.pad(source, (0, 4), value=PAD)
    assert torch.allclose(scores, model(wider, target), atol=1e-5)
