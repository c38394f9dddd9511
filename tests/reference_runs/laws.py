"""What holds for every model of a kind, whichever trainer it belongs to."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from podium.reference_runs.modeling.beams import PAD


def reaches_every_parameter(task: Any, model: nn.Module) -> Any:
    """The loss of one step, whose gradient no parameter lacks."""
    loss = task.loss(model, next(task.batches(1, 0)))
    loss.total.backward()
    lacking = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert lacking == []
    return loss


def predicts_from_the_past(model: nn.Module) -> None:
    """A translator's scores of a word depend on no word behind it, and on no padding."""
    source, target = torch.randint(2, 120, (3, 7)), torch.randint(2, 120, (3, 9))
    scores = model(source, target)
    changed = target.clone()
    changed[:, 5:] = 3
    assert torch.allclose(scores[:, :6], model(source, changed)[:, :6], atol=1e-5)
    assert not torch.allclose(scores[:, 6:], model(source, changed)[:, 6:], atol=1e-3)
    wider = nn.functional.pad(source, (0, 4), value=PAD)
    assert torch.allclose(scores, model(wider, target), atol=1e-5)
