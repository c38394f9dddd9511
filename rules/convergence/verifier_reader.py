"""Batch size and convergence as the official verifier reads them off a log.

It looks for words anywhere in a record, not for keys; takes the last evaluation before run_stop;
and goes by the benchmark named so far. Where it would crash, `problem` says on what.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from podium.logging_spec.reader.log import RECORD
from podium.logging_spec.reader.record import Record
from podium.logging_spec.reader.words import finder
from podium.rules.convergence.observation import Reading, quality_number
from podium.rules.round import Round
from podium.rules.run import Run

_BATCH, _NAME, _EVAL, _SAMPLES = 1, 2, 4, 8
_WORDS = (
    ("global_batch_size", _BATCH),
    ("submission_benchmark", _NAME),
    ("eval_error", _EVAL),
    ("eval_accuracy", _EVAL),
    ("train_samples", _SAMPLES),
)

FID_TARGET, CLIP_TARGET = 90.0, 0.15
"""Stable Diffusion's two limits: at most this distance, at least this score."""


class _Ends(Exception):
    """The verifier crashes."""


def read(run: Run, rules: Round, train_samples: bool = False) -> Reading:
    """Batch size and convergence of a run; `train_samples` is a flag that bert results may use."""
    reader = _Reader(rules, train_samples)
    try:
        if train_samples or not _only_as_keys(run):
            _by_words(reader, run)
        else:
            _by_keys(reader, run)
        return reader.reading()
    except _Ends as end:
        size = reader.batch_size
        reading = Reading(size if isinstance(size, int | float) else None, reader.benchmark)
        reading.problem = str(end)
        return reading


def _by_words(reader: _Reader, run: Run) -> None:
    mentions = _finder()
    for record in map(run.entire, range(len(run.records))):
        words = mentions(record)
        if words:
            reader.take(record, words)
        if record.key == "run_stop":
            reader.stop(record)


def _by_keys(reader: _Reader, run: Run) -> None:
    """The same where each word is mentioned by the records of that key and nowhere else.

    Nearly always it is, which the text tells quickly. Between two other records that count all
    evaluations are taken at once.
    """
    where, records = run.where, run.records
    errors, evaluations = where.get("eval_error"), where.get("eval_accuracy", [])
    if errors:
        evaluations = sorted([*errors, *evaluations])
    taken = 0
    for index, word in sorted([(at, word) for key, word in _TURNS for at in where.get(key, ())]):
        before = bisect_left(evaluations, index, taken)
        if before > taken:
            reader.take_evaluations([records[at] for at in evaluations[taken:before]])
            taken = before
        if word:
            reader.take(records[index], word)
        else:
            reader.stop(records[index])
    if taken < len(evaluations):
        reader.take_evaluations([records[at] for at in evaluations[taken:]])


_TURNS = (("global_batch_size", _BATCH), ("submission_benchmark", _NAME), ("run_stop", 0))
"""Keys whose records change how evaluations are taken, or end the run, with their words."""

_KEYS = [word for word, bit in _WORDS if bit != _SAMPLES]
_ESCAPE = len(_KEYS)
"""The number that the finder gives the last of its words, the beginning of an escape."""
_find_words = finder([*(word.encode() for word in _KEYS), b"\\u"])


def _only_as_keys(run: Run) -> bool:
    """Whether the text has the words only where there are records of those keys.

    Each such record has its word at least once, so that it is enough to count them all together.
    But for an escape, by which a text can say a word without its letters: that leaves it open.
    """
    if run.text is None:
        return False
    text, found = run.text, _find_words(run.text)
    records = sum([len(run.where.get(word, ())) for word in _KEYS])
    if records and len(found) > records:
        # What stands before a record, or on other lines, the verifier does not read.
        found = [one for one in found if RECORD in text[text.rfind(b"\n", 0, one[1]) + 1 : one[1]]]
    return len(found) == records and _ESCAPE not in [word for word, _, _ in found]


def _finder() -> Callable[[Record], int]:
    """A function that tells which of the words stand anywhere in a record."""
    known: dict[str, int] = {}

    def of_text(text: str) -> int:
        found = known.get(text)
        if found is None:
            found = known[text] = sum({bit for word, bit in _WORDS if word in text})
        return found

    def of_value(value: Any) -> int:
        if value is None or isinstance(value, int | float):
            return 0
        return of_text(value) if isinstance(value, str) else of_text(repr(value))

    def of_record(record: Record) -> int:
        words = of_text(record.key) | of_value(record.value)
        metadata = record.metadata
        if not isinstance(metadata, dict):
            return words | of_value(metadata)
        for name, value in metadata.items():
            words |= of_text(name) | of_value(value)
        return words

    return of_record


class _Reader:
    def __init__(self, rules: Round, train_samples: bool) -> None:
        self.rules, self.known = rules, rules.benchmark("")
        self.train_samples = train_samples
        self.batch_size: Any = None
        self.benchmark: Any = None
        self.at: Any = None
        self.evaluated = False
        self.quality: Any = None
        self.to_converge: Any = None
        self.converged = False
        self.checkpoints: dict[Any, dict[Any, Any]] = {}

    def take(self, record: Record, words: int) -> None:
        """Take in a record that mentions one of the words, in the verifier's order of questions."""
        if words & _BATCH:
            self.batch_size = record.value
        if words & _NAME:
            self.benchmark = record.value
            self.known = self.rules.benchmark(record.value if type(record.value) is str else "")
            self.train_samples = self.train_samples and self.known.convergence.in_train_samples
        if not words & (_EVAL | _SAMPLES):
            return
        if words & _EVAL and self.known.gathers:
            metric, step = _member(record, "metric"), _member(record, self.known.gathers)
            try:
                self.checkpoints.setdefault(step, {})[metric] = record.value
            except TypeError as error:
                raise _Ends(f"{record.key} has a list or object for metric or step") from error
        elif words & _EVAL and self.known.convergence.position == "samples_count":
            self._evaluated(record, _member(record, "samples_count"))
        elif words & _EVAL and not self.train_samples:
            epoch = _member(record, "epoch_num")
            try:
                self._evaluated(record, round(epoch, 3))
            except TypeError as error:
                raise _Ends(f"{record.key} has an epoch_num that is not a number") from error
        elif words & _SAMPLES and self.train_samples:
            self._evaluated(record, record.value)

    def take_evaluations(self, records: list[Record]) -> None:
        """Take in evaluations with nothing between them that counts: the last one is kept."""
        alone = len(records) > 1 and not self.known.gathers
        if alone and _all_numbers(records, self.known.convergence.position):
            records = records[-1:]
        for record in records:
            self.take(record, _EVAL)

    def _evaluated(self, record: Record, at: Any) -> None:
        self.at, self.evaluated, self.quality = at, True, record.value

    def stop(self, record: Record) -> None:
        """Take in a run_stop: the last one decides."""
        self.converged = _member(record, "status") == "success"
        if not self.converged:
            self.to_converge = None
            return
        if self.known.gathers:
            self.at, self.evaluated = self._first_checkpoint(), True
        if not self.evaluated:
            raise _Ends("run_stop reports success, and no evaluation stands before it")
        self.to_converge = self.at

    def _first_checkpoint(self) -> Any:
        try:
            return min(
                at
                for at, metrics in self.checkpoints.items()
                if metrics["FID"] <= FID_TARGET and metrics["CLIP"] >= CLIP_TARGET
            )
        except KeyError as error:
            raise _Ends(f"a checkpoint has no {error.args[0]}") from error
        except ValueError as error:
            raise _Ends("run_stop reports success, and no checkpoint reaches the target") from error
        except TypeError as error:
            raise _Ends("a checkpoint's metrics cannot be compared") from error

    def reading(self) -> Reading:
        """All that was read; the verifier crashes later on what should be a number and is not."""
        for name, value in (
            ("global_batch_size", self.batch_size),
            ("the point of convergence", self.to_converge),
        ):
            if value is not None and not isinstance(value, int | float):
                raise _Ends(f"{name} is {value!r:.60}, which is not a number")
        return Reading(
            self.batch_size,
            self.benchmark,
            self.to_converge,
            self.converged,
            quality_number(self.quality),
        )


_NUMBERS = frozenset({int, float})


def _all_numbers(records: list[Record], name: str) -> bool:
    """Whether a member of the metadata is a number in each of the records."""
    try:
        return {type(record.metadata[name]) for record in records} <= _NUMBERS
    except (KeyError, TypeError, IndexError):
        return False


def _member(record: Record, name: str) -> Any:
    try:
        return record.metadata[name]
    except (KeyError, TypeError, IndexError) as error:
        raise _Ends(f"{record.key} has no {name} in its metadata") from error
