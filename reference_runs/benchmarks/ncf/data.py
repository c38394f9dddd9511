"""Users and items: synthetic tastes at smoke scale, otherwise the ratings of MovieLens-20M."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.ncf.config import Ncf
    from podium.reference_runs.engine.samples import DatasetSize

    Ids = NDArray[np.int64]

TASTES = 12
SHARPNESS = 3.2
"""Scale of the match in the logits of a user's choice."""
TASK_SEED = 7


@dataclass(frozen=True)
class Interactions:
    """The interactions of every user: pairs for training, and one held-out item of each user."""

    user: Ids
    item: Ids
    held_out: Ids
    items: int

    def codes(self) -> Ids:
        """Each training pair as one number, sorted, for lookups."""
        return np.sort(self.user * self.items + self.item)


def synthetic(users: int, items: int, positives: int, seed: int) -> Interactions:
    """Users and items with hidden tastes; a user selects items by softmax probability.

    No item is popular in itself, so only the match of user and item is predictive. Tastes and
    held-out items are the same for every seed; the other interactions depend on it.
    """
    task = np.random.default_rng(TASK_SEED)
    scores = task.normal(size=(users, TASTES)) @ task.normal(size=(TASTES, items))
    scores *= SHARPNESS / np.sqrt(TASTES)
    # The largest scores with Gumbel noise are softmax draws without replacement.
    held_out = (scores + task.gumbel(size=scores.shape)).argmax(1)
    noisy = scores + np.random.default_rng([seed, 0x4CF]).gumbel(size=scores.shape)
    # Items of the evaluation must not be used for training
    noisy[np.arange(users), held_out] = -np.inf
    per_user = positives // users
    taken = np.argpartition(-noisy, per_user, axis=1)[:, :per_user]
    return Interactions(np.repeat(np.arange(users), per_user), taken.ravel(), held_out, items)


def from_ratings(folder: Path, config: Ncf, expected: DatasetSize) -> Interactions:
    """`ratings.csv` of MovieLens-20M: userId, movieId, rating, timestamp, with a header.

    Every rating counts as an interaction; each user's latest is held out. Raises DataMissing if the
    file is missing or has another number of users, items or ratings.
    """
    path = folder / "ratings.csv"
    try:
        with warnings.catch_warnings():
            # An empty file, which is reported below
            warnings.simplefilter("ignore", UserWarning)
            table = np.loadtxt(
                path, np.int64, delimiter=",", skiprows=1, usecols=(0, 1, 3), ndmin=2
            )
    except (OSError, ValueError) as error:
        raise DataMissing(f"{path} cannot be read as MovieLens ratings: {error}") from None
    if not len(table):
        raise DataMissing(f"{path} contains no ratings")
    _, user = np.unique(table[:, 0], return_inverse=True)
    _, item = np.unique(table[:, 1], return_inverse=True)
    users, items = int(user.max()) + 1, int(item.max()) + 1
    if items != config.items if expected.exactly else items > config.items:
        raise DataMissing(f"{path} contains {items} items; expected {config.items}")
    # The model has a row for each user
    if users > config.users:
        raise DataMissing(f"{path} contains {users} users; expected {config.users}")
    per_rating = 1 + config.negatives
    expected.check_evaluation(path, users, "users")
    expected.check_training(
        path, (len(user) - users) * per_rating, f"pairs, {per_rating} for each rating"
    )
    order = np.lexsort((table[:, 2], user))
    user, item = user[order], item[order]
    latest = np.append(user[1:] != user[:-1], True)
    return Interactions(user[~latest], item[~latest], item[latest], config.items)


def unseen(user: Ids, codes: Ids, items: int, rng: np.random.Generator) -> Ids:
    """For each entry of `user` an item, uniform over those without a training interaction."""
    drawn = rng.integers(0, items, len(user))
    wrong = np.arange(len(user))
    while len(wrong):
        wanted = user[wrong] * items + drawn[wrong]
        place = np.searchsorted(codes, wanted).clip(max=len(codes) - 1)
        # Only draws of known items are repeated: the rest stays uniform
        wrong = wrong[codes[place] == wanted]
        drawn[wrong] = rng.integers(0, items, len(wrong))
    return drawn


class Pairs:
    """Samples of an epoch: all positives, then newly drawn negatives for each of them."""

    def __init__(self, known: Interactions, negatives: int, seed: int, *, shuffled: bool) -> None:
        self._known, self._codes = known, known.codes()
        self._negatives, self._seed, self._shuffled = negatives, seed, shuffled

    def __len__(self) -> int:
        return len(self._known.user) * (1 + self._negatives)

    def set_epoch(self, epoch: int) -> None:
        """Draw the epoch's negatives, by seed and epoch."""
        rng = np.random.default_rng([self._seed, epoch, 0x4E6])
        known, times = self._known, self._negatives
        self._user = np.tile(known.user, 1 + times)
        drawn = unseen(self._user[len(known.user) :], self._codes, known.items, rng)
        self._item = np.concatenate([known.item, drawn])
        self._label = (np.arange(len(self)) < len(known.user)).astype(np.float32)
        if self._shuffled:
            self._label = rng.permutation(self._label)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Users, items and labels, (B,) each."""
        rows = np.asarray(indices)
        user, item, label = self._user[rows], self._item[rows], self._label[rows]
        return torch.from_numpy(user), torch.from_numpy(item), torch.from_numpy(label)


@dataclass(frozen=True)
class Candidates:
    """For each user the held-out item, first, and the negatives it is ranked among."""

    item: Tensor
    """(U, 1 + negatives)"""
    repeated: Tensor
    """Duplicate candidates in a row, which must not count twice."""

    def __len__(self) -> int:
        return len(self.item)


def candidates(known: Interactions, negatives: int) -> Candidates:
    """Evaluation rows of all users, the same for every seed."""
    users = len(known.held_out)
    rng = np.random.default_rng(TASK_SEED + 1)
    user = np.repeat(np.arange(users), negatives)
    drawn = unseen(user, known.codes(), known.items, rng).reshape(users, negatives)
    item = np.concatenate([known.held_out[:, None], drawn], axis=1)
    # Stable: the first of equal items is kept, which is the held-out one
    order = np.argsort(item, axis=1, kind="stable")
    inorder = np.take_along_axis(item, order, axis=1)
    same = np.zeros(item.shape, dtype=bool)
    same[:, 1:] = inorder[:, 1:] == inorder[:, :-1]
    repeated = np.zeros(item.shape, dtype=bool)
    np.put_along_axis(repeated, order, same, axis=1)
    return Candidates(torch.from_numpy(item), torch.from_numpy(repeated))
