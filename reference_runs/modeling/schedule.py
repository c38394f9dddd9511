"""Learning-rate schedules as functions of the optimizer step, counted from 1."""

from __future__ import annotations

import math


def warmed_up(step: int, warmup: int, base: float, start: float = 0.0) -> float:
    """Linear from `start` to `base` over the warmup; `base` from its last step on."""
    return base if step >= warmup else start + (base - start) * step / warmup


def cosine(step: int, *, warmup: int, decay: int, base: float, end: float) -> float:
    """Linear warmup, then half a cosine from `base` to `end` over `decay` steps, then `end`."""
    if step < warmup:
        return warmed_up(step, warmup, base)
    # The warmup may span the whole run, which leaves no step for the decay
    share = min(1.0, (step - warmup) / decay) if decay > 0 else 1.0
    return end + (base - end) * (1 + math.cos(math.pi * share)) / 2


def polynomial(
    step: int, *, warmup: int, decay: int, base: float, end: float, power: float = 2.0
) -> float:
    """Linear warmup, then (base - end)·(1 - share)^power + end until step `decay`, then `end`.

    `decay` counts from the start of training, as in the policy's formula for ResNet and BERT.
    """
    if step < warmup:
        return warmed_up(step, warmup, base)
    share = min(1.0, (step - warmup) / (decay - warmup)) if decay > warmup else 1.0
    return (base - end) * math.pow(1 - share, power) + end


def stepped(step: int, *, boundaries: tuple[int, ...], factors: tuple[float, ...]) -> float:
    """The product of the factors whose boundary has passed."""
    return math.prod(f for b, f in zip(boundaries, factors, strict=True) if step > b)
