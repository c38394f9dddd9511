"""The text classifier: widths and optimizer at both scales.

Source of the reference figures: the draft of round 0.5; the benchmark was never in a round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit


@dataclass(frozen=True, kw_only=True)
class Sentiment(Config):
    """Training of a classifier. A sample is a review."""

    name: ClassVar[str] = "sentiment"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "accuracy"

    # model
    vocabulary: int
    """Vocabulary size, including the entries for padding and for unknown words."""
    embedding: int
    filters: int
    """Number of filters for each of the two filter widths."""
    filter_widths: tuple[int, int] = (3, 4)

    # optimizer
    opt_name: str = "adam"
    opt_base_learning_rate: float
    opt_adam_beta_1: float = 0.9
    opt_adam_beta_2: float = 0.999
    opt_adam_epsilon: float = 1e-8


def smoke() -> Sentiment:
    """Texts in which negators invert the next opinion; about 10 s on one core."""
    return Sentiment(
        vocabulary=202,
        embedding=32,
        filters=64,
        global_batch_size=64,
        train_samples=3008,
        eval_samples=1000,
        target=0.906,
        last_step=47 * 30,
        opt_base_learning_rate=5e-4,
    )


def reference() -> Sentiment:
    """The draft's classifier on IMDB."""
    return Sentiment(
        vocabulary=5147,
        embedding=1024,
        filters=1024,
        global_batch_size=128,
        train_samples=25_000,
        eval_samples=25_000,
        target=0.906,
        last_step=195 * 100,
        opt_base_learning_rate=5e-4,
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="sentiment",
        title="Sentiment analysis: text CNN on IMDB",
        smoke=smoke,
        reference=reference,
        rounds=(),
        data="train/pos, train/neg, test/pos and test/neg of the IMDB review dataset",
    ),
)
