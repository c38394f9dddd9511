"""Configs of translators; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.engine.config import Config, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class TranslationConfig(Config):
    """One training of a translator. A sample is a pair of sentences."""

    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "BLEU as a fraction"

    layers: int
    """Of the encoder, and as many of the decoder."""
    width: int
    vocabulary: int
    dropout: float
    max_sequence_length: int
    """Training pairs with a longer side are left out."""
    label_smoothing: float = 0.1

    # evaluation
    beams: int
    length_penalty: float = 0.6
    extra_length: int
    """How many tokens a translation may be longer than its source."""

    def metadata(self, round_name: str) -> Mapping[str, Mapping[str, Any]]:
        """What happens to longer sentences; the rules of 0.7 want it logged."""
        return {"max_sequence_length": {"method": "discard"}}
