"""Group relative policy optimization: advantages, and the loss of one update.

Written from Shao et al., "DeepSeekMath", 2024, section 4.1, with the benchmark's changes (see the
README). Dimensions: N rollouts, L tokens of a rollout that may be scored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from podium.reference_runs.benchmarks.qwen35_397b_grpo.config import Qwen35
    from podium.reference_runs.benchmarks.qwen35_397b_grpo.rollouts import Rollout


class Batch(NamedTuple):
    """The rollouts of one update."""

    tokens: Tensor
    """(N, L)."""
    targets: Tensor
    """The next token of each token, (N, L)."""
    scored: Tensor
    """1 if the next token is part of the answer, (N, L)."""
    generated: Tensor
    """Its log-probability when it was sampled, (N, L)."""
    trained: Tensor
    """Its log-probability before the update, according to the trainer, (N, L)."""
    advantage: Tensor
    """(N,)."""


def advantages(reward_NG: Tensor) -> Tensor:
    """The difference of each of the G answers to a prompt from the mean of the others, (N, G).

    Divided by the standard deviation of all G; 0 if they are all equal, without a gradient.
    """
    count = reward_NG.shape[1]
    others = (reward_NG.sum(1, keepdim=True) - reward_NG) / (count - 1)
    deviation = reward_NG.std(1, keepdim=True)
    return torch.where(deviation > 0, (reward_NG - others) / deviation.clamp(min=1e-6), 0.0)


def batch_of(rollouts: Sequence[Rollout], advantage_N: Tensor, fill: int) -> Batch:
    """Rollouts padded to the length of the longest; `trained` is still to be filled.

    `fill` is the token that ends an answer. A truncated answer counts in its group's rewards, and
    its tokens are excluded from the loss.
    """
    longest = max(len(rollout.prompt) + len(rollout.answer) for rollout in rollouts)
    tokens = torch.full((len(rollouts), longest), fill)
    scored = torch.zeros(len(rollouts), longest)
    generated = torch.zeros(len(rollouts), longest)
    for row, rollout in enumerate(rollouts):
        begin, end = len(rollout.prompt), len(rollout.prompt) + len(rollout.answer)
        tokens[row, :end] = torch.tensor([*rollout.prompt, *rollout.answer])
        scored[row, begin:end] = rollout.answer[-1] == fill
        generated[row, begin:end] = torch.tensor(rollout.log_probabilities)
    scored, generated = scored[:, 1:], generated[:, 1:]
    trained = torch.zeros_like(generated)
    return Batch(tokens[:, :-1], tokens[:, 1:], scored, generated, trained, advantage_N)


def policy_loss(config: Qwen35, now_NL: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """The loss summed over the scored tokens, and their number.

    now_NL: log-probabilities of the model that is being updated.
    """
    counts_NL, weight_NL = agreement(config, batch)
    ratio = (now_NL - batch.trained).exp()
    clipped = ratio.clamp(1 - config.ratio_clip_low, 1 + config.ratio_clip_high)
    advantage = batch.advantage[:, None]
    gain = torch.minimum(ratio * advantage, clipped * advantage)
    return -(gain * weight_NL * counts_NL).sum(), counts_NL.sum()


def agreement(config: Qwen35, batch: Batch) -> tuple[Tensor, Tensor]:
    """The mask of scored tokens, and their weights, (N, L), by agreement of trainer and generator.

    The two compute the same probabilities in different ways. A rollout whose probabilities differ
    too much on average is excluded. One whose geometric mean ratio is out of range has a weight of
    0, the tokens of the others are weighted with their ratios.
    """
    difference = (batch.trained - batch.generated) * batch.scored
    length = batch.scored.sum(1).clamp(min=1)
    # Otherwise each unscored token would add exp(0)
    error = (difference.abs().exp() * batch.scored).sum(1) / length
    mean_ratio = (difference.sum(1) / length).exp()
    near = (mean_ratio >= config.sequence_ratio_low) & (mean_ratio <= config.sequence_ratio_high)
    agreed = error <= config.most_probability_error
    return batch.scored * agreed[:, None], difference.exp() * near[:, None]
