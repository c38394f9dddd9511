"""How many samples a dataset holds: what was found there, against what the benchmark has."""

from __future__ import annotations

from dataclasses import dataclass

from podium.reference_runs.errors import DataMissing


@dataclass(frozen=True)
class DatasetSize:
    """The sizes of a benchmark's dataset."""

    training: int
    evaluation: int
    exactly: bool = True
    """Whether a dataset of another size is refused."""

    def check_training(self, where: object, found: int, what: str) -> None:
        """Raise DataMissing where the training data do not hold what is wanted."""
        self._check(where, found, what, self.training)

    def check_evaluation(self, where: object, found: int, what: str) -> None:
        """Raise DataMissing where the evaluation data do not hold what is wanted."""
        self._check(where, found, what, self.evaluation)

    def _check(self, where: object, found: int, what: str, wanted: int) -> None:
        if found == wanted or (found > 0 and not self.exactly):
            return
        hint = "; --allow-subset takes what is there, in the open division" if found else ""
        raise DataMissing(f"{where} holds {found} {what}; expected {wanted}{hint}")
