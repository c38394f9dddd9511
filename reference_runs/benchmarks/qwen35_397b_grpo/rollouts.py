"""Answers sampled from the model, token by token, and their data for the update.

Dimensions: N rollouts, P prompt length, L answer length, W words.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.qwen35_397b_grpo.model import Decoder


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


class Start(NamedTuple):
    """The beginning of a rollout."""

    task: int
    prompt: list[int]
    numbers: NDArray[np.float64]
    """A number from 0 to 1 for each token, which chooses it."""


def roll_out(
    model: Decoder,
    starts: Iterable[Start],
    sampling: Sampling,
    end: int,
    anywhere: Callable[[bool], bool] = bool,
) -> list[Rollout]:
    """An answer for each start, in the order of tasks.

    The sampled tokens depend on the numbers and the model only, not on how rollouts are divided.
    Rollouts from prompts of one length are generated together. On a mesh all ranks must call the
    model equally often: `anywhere` returns whether its argument is true on a rank.
    """
    done: list[Rollout] = []
    ordered = sorted(starts, key=_prompt_length)
    for _, group in groupby(ordered, key=_prompt_length):
        rows = [*group]
        answers = _continued(model, rows, sampling, end, anywhere)
        done += [
            Rollout(start.task, start.prompt, *answer)
            for start, answer in zip(rows, answers, strict=True)
        ]
    while anywhere(False):
        model(torch.full((1, 1), end, device=model.device), None, model.no_pasts())
    return sorted(done, key=lambda rollout: rollout.task)


def _prompt_length(start: Start) -> int:
    return len(start.prompt)


def _continued(
    model: Decoder,
    starts: Sequence[Start],
    sampling: Sampling,
    end: int,
    anywhere: Callable[[bool], bool],
) -> list[tuple[list[int], list[float]]]:
    """The continuation of prompts of one length, and its log-probabilities."""
    tokens = torch.tensor([start.prompt for start in starts], device=model.device)
    uniform = torch.from_numpy(np.stack([start.numbers for start in starts])).to(model.device)
    columns = continuation(model, tokens, uniform, sampling, end, anywhere)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [_until(end, *row) for row in rows]


def continuation(
    model: Decoder,
    tokens_NP: Tensor,
    uniform_NL: Tensor,
    sampling: Sampling,
    end: int,
    anywhere: Callable[[bool], bool] = bool,
) -> tuple[Tensor, Tensor]:
    """The tokens after prompts of P tokens, (N, L), and their log-probabilities.

    Rows continue after the end of their answer, until all have ended. A number from 0 to 1 chooses
    each token.
    """
    pasts, drawn, probable, begin = model.no_pasts(), [], [], 0
    going = torch.ones(len(tokens_NP), dtype=torch.bool, device=model.device)
    for place in range(sampling.limit - tokens_NP.shape[1]):
        anywhere(True)
        scores = model(tokens_NP, None, pasts, begin)[:, -1].float()
        begin += tokens_NP.shape[1]
        token = chosen(scores, sampling, uniform_NL[:, place])
        drawn.append(token)
        probable.append(F.log_softmax(scores, -1).gather(-1, token[:, None])[:, 0])
        going &= token != end
        if not going.any():
            break
        tokens_NP = token[:, None]
    return torch.stack(drawn, 1), torch.stack(probable, 1)


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
