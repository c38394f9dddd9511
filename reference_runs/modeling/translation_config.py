"""Configs of translation models; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.engine.config import Config, Unit, version

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class TranslationConfig(Config):
    """Training of a translation model. A sample is a pair of sentences."""

    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "BLEU as a fraction"

    layers: int
    """Number of layers of the encoder, and of the decoder."""
    width: int
    vocabulary: int
    dropout: float
    max_sequence_length: int
    """Training pairs with a longer side are dropped."""
    label_smoothing: float = 0.1

    # evaluation
    beams: int
    length_penalty: float = 0.6
    extra_length: int
    """Maximum number of tokens by which a translation exceeds its source."""

    def quality_in(self, round_name: str, quality: float) -> float:
        """BLEU in points up to round 0.6, and as a fraction from 0.7."""
        return 100 * quality if version(round_name) < (0, 7) else quality

    def metadata(self, round_name: str) -> Mapping[str, Mapping[str, Any]]:
        """The treatment of longer sentences, which the 0.7 rules require in the log."""
        return {"max_sequence_length": {"method": "discard"}}
