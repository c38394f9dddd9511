"""NCF: widths, negatives and optimizer at both scales.

Source of the reference figures: He et al., Neural Collaborative Filtering (2017), and round 0.5's
benchmark: widths, batch, rate and the count of negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit


@dataclass(frozen=True, kw_only=True)
class Ncf(Config):
    """Training of NeuMF. A sample is a user, an item and whether the two go together."""

    name: ClassVar[str] = "ncf"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "hit rate at 10"

    # data
    users: int
    items: int
    positives: int
    """Interactions to train on; each epoch adds `negatives` unseen items for every one of them."""
    negatives: int = 4
    eval_negatives: int
    """Number of unseen items that each user's held-out item is ranked among."""

    # model
    mf_width: int
    mlp_widths: tuple[int, ...]
    """Width of the MLP's input (both embeddings concatenated), then of each layer."""

    # optimizer
    opt_name: str = "adam"
    opt_base_learning_rate: float
    opt_adam_beta_1: float = 0.9
    opt_adam_beta_2: float = 0.999
    opt_adam_epsilon: float = 1e-8


def smoke() -> Ncf:
    """2000 users who share twelve tastes; about 5 s on one core."""
    users, per_user = 2000, 24
    return Ncf(
        users=users,
        items=1000,
        positives=users * per_user,
        eval_negatives=99,
        mf_width=8,
        mlp_widths=(32, 32, 16, 8),
        global_batch_size=1024,
        # A positive and its four negatives are five pairs
        train_samples=users * per_user * 5,
        eval_samples=users,
        target=0.635,
        last_step=234 * 20,
        opt_base_learning_rate=5e-4,
    )


def reference() -> Ncf:
    """MovieLens-20M as in round 0.5: 20 000 263 ratings, one of which is held out for each user."""
    users, ratings = 138_493, 20_000_263
    return Ncf(
        users=users,
        items=26_744,
        positives=ratings - users,
        eval_negatives=999,
        mf_width=64,
        mlp_widths=(256, 256, 128, 64),
        global_batch_size=2048,
        train_samples=(ratings - users) * 5,
        eval_samples=users,
        target=0.635,
        last_step=20 * ((ratings - users) * 5 // 2048),
        opt_base_learning_rate=5e-4,
    )


BENCHMARKS = (
    Benchmark(
        name="ncf",
        title="Recommendation: neural collaborative filtering on MovieLens-20M",
        smoke=smoke,
        reference=reference,
        rounds=(),
        data="ratings.csv of MovieLens-20M",
    ),
)
