"""Answers sampled from the model, token by token, and their data for the update.

Dimensions: N rollouts, L sequence length, W words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.qwen35_397b_grpo.model import Decoder, Past


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters; `limit` is the maximum length of a rollout."""

    temperature: float
    top_p: float
    limit: int


@dataclass(frozen=True)
class Rollout:
    """One answer: its tokens, including the end token, and their log-probabilities."""

    task: int
    prompt: list[int]
    answer: list[int]
    log_probabilities: list[float]


def roll_out(
    model: Decoder,
    prompts: Iterable[tuple[int, list[int]]],
    draws: Callable[[int], NDArray[np.float64]],
    sampling: Sampling,
    end: int,
) -> list[Rollout]:
    """Answers to each prompt; `draws` has a row of numbers from 0 to 1 for each answer to a task.

    The sampled tokens depend on these numbers and the model only, not on how rollouts are divided.
    Rollouts from prompts of one length are generated together.
    """
    done: list[Rollout] = []
    ordered = sorted(prompts, key=lambda task_and_prompt: len(task_and_prompt[1]))
    for _, group in groupby(ordered, key=lambda task_and_prompt: len(task_and_prompt[1])):
        rows = [(task, prompt, numbers) for task, prompt in group for numbers in draws(task)]
        tasks, begun, numbers = zip(*rows, strict=True)
        answers = _continued(model, begun, np.stack(numbers), sampling, end)
        done += [
            Rollout(task, prompt, *answer)
            for task, prompt, answer in zip(tasks, begun, answers, strict=True)
        ]
    return sorted(done, key=lambda rollout: rollout.task)


def _continued(
    model: Decoder,
    prompts: Sequence[list[int]],
    numbers: NDArray[np.float64],
    sampling: Sampling,
    end: int,
) -> list[tuple[list[int], list[float]]]:
    """The continuation of prompts of one length, and its log-probabilities."""
    device = model.embedding.weight.device
    tokens = torch.tensor(prompts, device=device)
    uniform = torch.from_numpy(numbers).to(device)
    pasts: list[Past] = [{} for _ in model.blocks]
    drawn, probable, begin = [], [], 0
    going = torch.ones(len(prompts), dtype=torch.bool, device=device)
    for place in range(sampling.limit - len(prompts[0])):
        scores = model(tokens, None, pasts, begin)[:, -1].float()
        begin += tokens.shape[1]
        token = chosen(scores, sampling, uniform[:, place])
        drawn.append(token)
        probable.append(F.log_softmax(scores, -1).gather(-1, token[:, None])[:, 0])
        going &= token != end
        if not going.any():
            break
        tokens = token[:, None]
    columns = torch.stack(drawn, 1).tolist(), torch.stack(probable, 1).tolist()
    return [_until(end, *row) for row in zip(*columns, strict=True)]


def _until(end: int, tokens: list[int], values: list[float]) -> tuple[list[int], list[float]]:
    length = tokens.index(end) + 1 if end in tokens else len(tokens)
    return tokens[:length], values[:length]


def chosen(scores_NW: Tensor, sampling: Sampling, uniform_N: Tensor) -> Tensor:
    """A token for each row of logits, (N,), selected by a number from 0 to 1.

    Sampling is restricted to the most probable tokens whose sum reaches `top_p`.
    """
    probability = (scores_NW.double() / sampling.temperature).softmax(-1)
    probability, words = probability.sort(dim=-1, descending=True, stable=True)
    total = probability.cumsum(-1)
    kept = probability.masked_fill(total - probability >= sampling.top_p, 0).cumsum(-1)
    place = (kept <= uniform_N[:, None] * kept[:, -1:]).sum(-1, keepdim=True)
    # A number so close to 1 that rounding would place it after the last token
    return words.gather(-1, place.clamp(max=kept.shape[-1] - 1))[:, 0]
