"""Batch size and convergence as the official verifier reads them from a log.

The verifier searches for words anywhere in a record, not for keys. It uses the last evaluation
before run_stop and the benchmark named so far. If it would crash, `problem` names the cause.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.logging_spec.reader.words import finder
from podium.rules.convergence.observation import Reading, quality_number
from podium.rules.model.round import Round
from podium.rules.run import Run

_BATCH, _NAME, _EVAL, _SAMPLES = 1, 2, 4, 8
_WORDS = (
    (b"global_batch_size", _BATCH),
    (b"submission_benchmark", _NAME),
    (b"eval_error", _EVAL),
    (b"eval_accuracy", _EVAL),
    (b"train_samples", _SAMPLES),
)
_find = finder([word for word, _ in _WORDS])
_encoder = msgspec.json.Encoder()

_CHUNK = 512
"""Number of records that are searched at once."""

FID_TARGET, CLIP_TARGET = 90.0, 0.15
"""The two limits of Stable Diffusion: the maximum distance and the minimum score."""


class _Crash(Exception):
    """The official verifier crashes on the log."""


def read(run: Run, rules: Round, train_samples: bool = False) -> Reading:
    """Batch size and convergence of a run; `train_samples` is a flag that bert results may use."""
    reader = _Reader(rules, train_samples)
    # The verifier searches for words in the text of a line: a key such as `target_eval_accuracy`,
    # or a value that contains a word, matches as well
    words_of = dict(_mentions(run.records))
    try:
        for index in sorted({*words_of, *run.where.get("run_stop", ())}):
            record = run.records[index]
            if index in words_of:
                reader.take(record, words_of[index])
            # Each run_stop replaces the status of the one before
            if record.key == "run_stop":
                reader.stop(record)
        return reader.reading()
    except _Crash as crash:
        size = reader.batch_size
        reading = Reading(size if _is_number(size) else None, reader.benchmark)
        reading.problem = str(crash)
        return reading


def _mentions(records: Sequence[Record]) -> Iterator[tuple[int, int]]:
    """(index, words) of each record with one of the words in its key, value or metadata."""
    for first in range(0, len(records), _CHUNK):
        chunk = records[first : first + _CHUNK]
        rows = [(record.key, record.value, record.metadata) for record in chunk]
        try:
            text = _encoder.encode_lines(rows)
        # Half a surrogate pair, which UTF-8 cannot encode; a null metric in a derived record
        except (UnicodeEncodeError, TypeError):
            text = b"".join(b"%s\n" % _line(row) for row in rows)
        index, end = first, -1
        for _, position, _ in _find(text):
            if position < end:
                continue
            start = text.rfind(b"\n", 0, position) + 1
            index += text.count(b"\n", max(end, 0), start)
            end = text.find(b"\n", position)
            line = text[start:end]
            # Matches do not overlap, but words may: search for each of them
            yield index, sum({bit for word, bit in _WORDS if word in line})


def _line(row: tuple[Any, ...]) -> bytes:
    try:
        return _encoder.encode(row)
    except (UnicodeEncodeError, TypeError):
        return repr(row).encode(errors="replace")


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
        """Read a record that mentions one of the words, in the order of the verifier's tests."""
        if words & _BATCH:
            self.batch_size = record.value
        if words & _NAME:
            self.benchmark = record.value
            self.known = self.rules.benchmark(record.value if type(record.value) is str else "")
            # A log that names another benchmark loses the flag permanently
            self.train_samples = self.train_samples and self.known.convergence.in_train_samples
        is_evaluation, position = words & _EVAL, record.value
        if is_evaluation and self.known.gathers:
            metric, step = _member(record, "metric"), _member(record, self.known.gathers)
            try:
                self.checkpoints.setdefault(step, {})[metric] = record.value
            except TypeError as error:
                raise _Crash(f"{record.key} has a list or object for metric or step") from error
            return
        if is_evaluation and self.known.convergence.position == "samples_count":
            position = _member(record, "samples_count")
        elif is_evaluation and not self.train_samples:
            epoch = _member(record, "epoch_num")
            try:
                # Only epochs are rounded; samples stay as logged
                position = round(epoch, 3)
            except TypeError as error:
                raise _Crash(f"{record.key} has an epoch_num that is not a number") from error
        elif not (words & _SAMPLES and self.train_samples):
            return
        self.at, self.evaluated, self.quality = position, True, record.value

    def stop(self, record: Record) -> None:
        """Read a run_stop: the last one decides."""
        # The verifier does not test the target: a run that reports success has converged
        self.converged = _member(record, "status") == "success"
        if not self.converged:
            self.to_converge = None
            return
        if self.known.gathers:
            # The only benchmark whose target it tests, because checkpoints come in any order
            self.at, self.evaluated = self._first_checkpoint(), True
        if not self.evaluated:
            raise _Crash("run_stop reports success, but no evaluation precedes it")
        self.to_converge = self.at

    def _first_checkpoint(self) -> Any:
        try:
            return min(
                checkpoint
                for checkpoint, metrics in self.checkpoints.items()
                if metrics["FID"] <= FID_TARGET and metrics["CLIP"] >= CLIP_TARGET
            )
        except KeyError as error:
            raise _Crash(f"a checkpoint has no {error.args[0]}") from error
        except ValueError as error:
            raise _Crash(
                "run_stop reports success, but no checkpoint reaches the target"
            ) from error
        except TypeError as error:
            raise _Crash("a checkpoint's metrics cannot be compared") from error

    def reading(self) -> Reading:
        """All values read; the verifier crashes later on values that are not numbers."""
        if self.converged and self.to_converge is None:
            raise _Crash("the point of convergence is null, which is not a number")
        # It reads these unchanged: the later arithmetic crashes
        for name, value in (
            ("global_batch_size", self.batch_size),
            ("the point of convergence", self.to_converge),
        ):
            if value is None or _is_number(value):
                continue
            if isinstance(value, int):
                raise _Crash(f"{name} is larger than any float")
            raise _Crash(f"{name} is {value!r:.60}, which is not a number")
        return Reading(
            self.batch_size,
            self.benchmark,
            self.to_converge,
            self.converged,
            quality_number(self.quality),
        )


def _is_number(value: Any) -> bool:
    # JSON integers have no bound, but the arithmetic uses floats, which have one
    integer = isinstance(value, int) and abs(value) <= sys.float_info.max
    return integer or isinstance(value, float)


def _member(record: Record, name: str) -> Any:
    try:
        return record.metadata[name]
    except (KeyError, TypeError, IndexError) as error:
        raise _Crash(f"{record.key} has no {name} in its metadata") from error
