"""The number of samples in a dataset, compared with the benchmark's number."""

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
    more_training: bool = False
    """Whether larger training data is allowed; all of it is used then."""

    def check_training(self, where: object, count: int, what: str) -> None:
        """Raise DataMissing if the training data have an unacceptable size."""
        if self.more_training and count >= self.training:
            return
        least = "at least " if self.more_training else ""
        self._check(where, count, what, (self.training, least))

    def check_evaluation(self, where: object, count: int, what: str) -> None:
        """Raise DataMissing if the evaluation data have an unacceptable size."""
        self._check(where, count, what, (self.evaluation, ""))

    def _check(self, where: object, count: int, what: str, limit: tuple[int, str]) -> None:
        wanted, least = limit
        if count == wanted or (count > 0 and not self.exactly):
            return
        hint = "; --allow-subset accepts this size in the open division" if count else ""
        raise DataMissing(f"{where} contains {count} {what}; expected {least}{wanted}{hint}")
