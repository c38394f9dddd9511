"""The emitter: a logger object that writes the records of one training run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

from podium.logging_spec import keys
from podium.logging_spec.emitter import ranks
from podium.logging_spec.emitter.guarding import Gatekeeper
from podium.logging_spec.emitter.guarding import GuardViolationError as GuardViolationError
from podium.logging_spec.emitter.intervals import Evaluation, Interval, Run
from podium.logging_spec.emitter.lines import LineOptions, Lines, look_for_misspelling
from podium.logging_spec.emitter.round_guard import RoundOptions, guard_of
from podium.logging_spec.emitter.targets import open_sink
from podium.logging_spec.emitter.values import members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self, Unpack

    from podium.logging_spec.emitter.round_guard import Guard
    from podium.logging_spec.emitter.sink import Sink
    from podium.logging_spec.keys import Key

_DECLARED: Final = frozenset({"hyperparameter", "disclosure", "submission"})
_OF_ROUND: Final = RoundOptions.__optional_keys__
# Points and statistics by role, but members of the config of a training program
_ALSO_DECLARED: Final = frozenset({"seed", "train_samples", "eval_samples"})


class LoggerOptions(LineOptions, RoundOptions, total=False):
    """The keyword arguments of Logger in addition to its parameters."""


class Logger:
    """Writes the log of one run to a path, a stream, a descriptor, or several of these.

    Only rank 0 writes. Without `rank`, the rank comes from torch.distributed or from variables of
    the launcher. At both ends of the timed part all ranks wait for each other in `barrier`.

    With `round`, `division`, `benchmark` and `usage` (default "training"), each record is checked
    against the rules of that round, if podium is installed. `guard` is another checker.
    `on_violation` says whether an error is logged as a warning or raised.

    `errors` controls values that cannot be logged: "raise" (the default) raises
    UnloggableValueError at the call, "note" reports the value and continues. `nonfinite` controls
    NaN and Infinity: "refuse" (the default) treats them as values that cannot be logged, "words"
    writes them as bare words, which log readers accept although JSON does not allow them.
    `call_sites=False` omits the file and line of a record; `stack_offset` selects a caller further
    up, and `root_dir` is removed from their paths. `namespace` is the namespace of every record,
    and `clock` returns the time in milliseconds since 1970.
    """

    def __init__(
        self,
        sink: Any = None,
        *,
        rank: int | None = None,
        barrier: Callable[[], object] = ranks.barrier,
        guard: Guard | None = None,
        round: str | None = None,  # noqa: A002 - the name that rules go by
        on_violation: Literal["warn", "raise"] = "warn",
        **options: Unpack[LoggerOptions],
    ) -> None:
        of_lines, of_round = _apart(options)
        self.rank = ranks.rank() if rank is None else rank
        self.barrier = barrier
        self._lines = Lines(**of_lines)
        # Other ranks open nothing: a log that all ranks write repeats every record
        self._sink: Sink | None = open_sink(sink) if self.rank == 0 else None
        if round is not None and guard is None and self._sink is not None:
            guard = guard_of(round, **of_round)
        self._gate = None if guard is None else Gatekeeper(guard, on_violation)

    # --- records ---

    def start(
        self,
        key: Key | str,
        value: Any = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        time_ms: int | None = None,
    ) -> None:
        """Log that an interval begins."""
        if self._sink is not None:
            self._emit(keys.INTERVAL_START, key, value, metadata, time_ms)

    def end(
        self,
        key: Key | str,
        value: Any = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        time_ms: int | None = None,
    ) -> None:
        """Log that an interval ends. After `run_stop` the file is synced to disk."""
        if self._sink is not None:
            self._emit(keys.INTERVAL_END, key, value, metadata, time_ms)
            # The record that decides the result must survive a later crash of the node
            if key in (keys.RUN_STOP, keys.RUN_STOP.name):
                self._sink.sync()

    def event(
        self,
        key: Key | str,
        value: Any = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        time_ms: int | None = None,
    ) -> None:
        """Log a value at a point in time."""
        if self._sink is not None:
            self._emit(keys.POINT_IN_TIME, key, value, metadata, time_ms)

    # --- phases ---

    def init(self) -> Interval:
        """Initialization: limited, not scored."""
        return Interval(self, (keys.INIT_START, keys.INIT_STOP))

    def run(self) -> Run:
        """The timed part."""
        return Run(self)

    def block(
        self,
        *,
        samples_count: int | None = None,
        step_num: int | None = None,
        first_epoch_num: float | None = None,
        epoch_count: float | None = None,
        **metadata: Any,
    ) -> Interval:
        """Training between two evaluations."""
        # The official verifier requires one of these on block_start; which one depends on the round
        if samples_count is None and step_num is None and None in (first_epoch_num, epoch_count):
            raise TypeError(
                "a block needs samples_count, step_num, or first_epoch_num with epoch_count"
            )
        metadata |= _given(
            samples_count=samples_count, step_num=step_num, first_epoch_num=first_epoch_num
        )
        # Rules require only a position on block_stop, not the length
        at_start = metadata | _given(epoch_count=epoch_count)
        return Interval(self, (keys.BLOCK_START, keys.BLOCK_STOP), at_start, metadata)

    def epoch(
        self, epoch_num: float, *, samples_count: int | None = None, **metadata: Any
    ) -> Interval:
        """One pass over the training data."""
        position = {"epoch_num": epoch_num} | _given(samples_count=samples_count) | metadata
        return Interval(self, (keys.EPOCH_START, keys.EPOCH_STOP), position)

    def evaluation(
        self,
        *,
        samples_count: int | None = None,
        step_num: int | None = None,
        epoch_num: float | None = None,
        **metadata: Any,
    ) -> Evaluation:
        """An evaluation at a training position in the unit of the benchmark."""
        position = _given(samples_count=samples_count, step_num=step_num, epoch_num=epoch_num)
        if not position:
            raise TypeError("an evaluation needs samples_count, step_num or epoch_num")
        return Evaluation(self, (keys.EVAL_START, keys.EVAL_STOP), position | metadata)

    # --- declarations ---

    def hyperparameters(
        self, config: object, *, rename: Mapping[str, Key | str] | None = None
    ) -> tuple[str, ...]:
        """Log the members of `config` that are standard keys; returns the logged names.

        `config` is a mapping, a dataclass or a pydantic model; `rename` maps its members to keys.
        Members that are None or not log keys are skipped.
        """
        logged_names = []
        for member, value in members(config):
            key = (rename or {}).get(member, member)
            name = key if isinstance(key, str) else key.name
            standard = keys.known(name)
            if member not in (rename or {}) and not _declares(standard):
                # Once per log: all ranks have the same configuration
                if self.rank == 0:
                    look_for_misspelling(name)
            elif value is not None:
                self.event(name, value)
                logged_names.append(name)
        return tuple(logged_names)

    def submission(self, **names: str) -> None:
        """Log the submission: `benchmark`, `division`, `org`, `platform`, `status` and so on."""
        for name, value in names.items():
            self.event(_standard(f"submission_{name}"), value)

    def disclosure(self, **facts: Any) -> None:
        """Log disclosed values by key: precisions, parallelism, `config_filename`."""
        for name, value in facts.items():
            key = _standard(name)
            if key.role != "disclosure":
                raise TypeError(f"{name} is not a disclosure key")
            self.event(key, value)

    # --- the file ---

    def retry(self) -> None:
        """Write the lines that could not be written; LogNotWrittenError if that fails again."""
        if self._sink is not None:
            self._sink.retry()
            self._sink.sync()

    def close(self) -> None:
        """Write the kept lines and close the file; the guard checks the whole log."""
        if self._sink is not None:
            self._sink.close()
        # Removed first, so that a second close does not ask the guard again
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except (OSError, GuardViolationError) as second:
            if error is None:
                raise
            # The exception that ended the program matters more than a failure to close its log
            error.add_note(f"closing the log: {second}")

    def _emit(
        self,
        kind: str,
        key: Key | str,
        value: Any,
        metadata: Mapping[str, Any] | None,
        time_ms: int | None,
    ) -> None:
        line = self._lines.line(kind, key, value, metadata, time_ms)
        if line is None or self._sink is None:
            return
        if self._gate is None:
            self._sink.write(line.encode("ascii"))
            return
        try:
            self._sink.write(line.encode("ascii"))
        finally:  # a line that waits for a retry is also a record
            self._gate.judge(line)


def _apart(options: LoggerOptions) -> tuple[LineOptions, RoundOptions]:
    of_round = {name: value for name, value in options.items() if name in _OF_ROUND}
    of_lines = {name: value for name, value in options.items() if name not in _OF_ROUND}
    return cast("LineOptions", of_lines), cast("RoundOptions", of_round)


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _declares(key: Key | None) -> bool:
    return key is not None and (key.role in _DECLARED or key.name in _ALSO_DECLARED)


def _standard(name: str) -> Key:
    key = keys.known(name)
    if key is None:
        match = keys.nearest(name)
        hint = f"; did you mean {match.name}?" if match else ""
        raise TypeError(f"{name} is not a standard key{hint}")
    return key
