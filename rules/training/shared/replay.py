"""The order of lines in 0.6, as in its verifier: each record is tested against the state so far."""

from __future__ import annotations

from typing import Any

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint
from podium.rules.run import Run


class _Replay:
    """The state of the order rules of 0.6, record by record.

    A record that violates its rule still changes the state, as far as its metadata can be read.
    """

    def __init__(self, minigo: bool) -> None:
        self.minigo = minigo
        self.first_start = 9e99  # the verifier uses the earliest; far future if none
        self.begun = False
        self.started = self.stopped = self.ready = False
        self.epoch_open = self.block_open = self.eval_open = False
        self.printed = True
        self.last_epoch: Any = 0
        self.last_eval: Any = 0
        self.block_first: Any = None
        self.model_saved = False
        self.saved: list[float] = []
        self.run_start_ms: float | None = None

    def judge(self, record: Record) -> bool:
        """Whether the record obeys its order rule; updates the state either way."""
        test, update = _ORDERED[record.key]
        try:
            allowed = bool(test(self, record))
        except Exception:
            allowed = False
        try:
            update(self, record)
        except Exception:
            return False
        return allowed

    def may_init_start(self, record: Record) -> bool:
        return not self.ready and not self.started

    def saw_init_start(self, record: Record) -> None:
        self.first_start = min(self.first_start, record.time_ms)
        self.begun = True

    def may_init_stop(self, record: Record) -> bool:
        return self.begun and not self.started and (self.minigo or self._soon(record))

    def _soon(self, record: Record) -> bool:
        # 20 minutes: lines of 0.6 have seconds, records have milliseconds
        return record.time_ms - self.first_start < 1_200_000

    def saw_init_stop(self, record: Record) -> None:
        # MiniGo's init_stop passes at any time; a late one makes run_start fail instead
        self.ready = self._soon(record) if self.minigo else True

    def may_run_start(self, record: Record) -> bool:
        return self.ready

    def saw_run_start(self, record: Record) -> None:
        self.started = True
        self.run_start_ms = record.time_ms

    def may_run_stop(self, record: Record) -> bool:
        return self.started and not self.eval_open and record.metadata["status"] == "success"

    def saw_run_stop(self, record: Record) -> None:
        self.stopped = True

    def may_epoch_start(self, record: Record) -> bool:
        # MiniGo's rule file does not list run_stop, so nothing marks the end of its timed part
        running = self.started and (self.minigo or not self.stopped)
        return (
            running and not self.epoch_open and record.metadata["epoch_num"] == self.last_epoch + 1
        )

    def saw_epoch_start(self, record: Record) -> None:
        self.epoch_open = True
        self.last_epoch = record.metadata["epoch_num"]
        self.model_saved = False

    def may_epoch_stop(self, record: Record) -> bool:
        return self.epoch_open and record.metadata["epoch_num"] == self.last_epoch

    def saw_epoch_stop(self, record: Record) -> None:
        self.epoch_open = False

    def may_save_model(self, record: Record) -> bool:
        iteration = record.value["iteration"]
        return self.epoch_open and iteration == self.last_epoch and not self.model_saved

    def saw_save_model(self, record: Record) -> None:
        self.model_saved = True
        self.saved.append(record.time_ms)

    def may_eval_start(self, record: Record) -> bool:
        epoch = record.metadata["epoch_num"]
        running = self.started and (self.minigo or not self.stopped)
        idle = running and not self.eval_open and self.printed
        in_order = epoch == self.last_eval + 1 if self.minigo else epoch > self.last_eval
        return bool(idle and in_order and epoch <= self.last_epoch)

    def saw_eval_start(self, record: Record) -> None:
        self.eval_open, self.printed = True, False
        self.last_eval = record.metadata["epoch_num"]

    def may_eval_stop(self, record: Record) -> bool:
        return self.eval_open and record.metadata["epoch_num"] == self.last_eval

    def saw_eval_stop(self, record: Record) -> None:
        self.eval_open = False

    def may_eval_accuracy(self, record: Record) -> bool:
        return bool(record.metadata["epoch_num"] == self.last_eval)

    def saw_eval_accuracy(self, record: Record) -> None:
        self.printed = True

    def may_block_start(self, record: Record) -> bool:
        first = record.metadata["first_epoch_num"]
        expected = self.last_eval if self.epoch_open else self.last_epoch + 1
        running = self.started and not self.stopped and not self.block_open
        return bool(running and record.metadata["epoch_count"] > 0 and first == expected)

    def saw_block_start(self, record: Record) -> None:
        self.block_open = self.printed = True
        self.block_first = record.metadata["first_epoch_num"]

    def may_block_stop(self, record: Record) -> bool:
        matches = record.metadata["first_epoch_num"] == self.block_first
        return self.block_open and self.printed and matches

    def saw_block_stop(self, record: Record) -> None:
        self.block_open = False

    def may_eval_result(self, record: Record) -> bool:
        iteration = record.metadata["iteration"]
        assert self.run_start_ms is not None
        since_start = (self.saved[iteration - 1] - self.run_start_ms) / 1000
        # Without an absolute value: the verifier applies it to the result of the comparison, which
        # has no effect, so any earlier time passes as well
        in_time = record.metadata["timestamp"] - since_start < 1.5e-3
        return bool(in_time and iteration <= self.last_eval)

    def saw_eval_result(self, record: Record) -> None:
        pass


_ORDERED = {
    "init_start": (_Replay.may_init_start, _Replay.saw_init_start),
    "init_stop": (_Replay.may_init_stop, _Replay.saw_init_stop),
    "run_start": (_Replay.may_run_start, _Replay.saw_run_start),
    "run_stop": (_Replay.may_run_stop, _Replay.saw_run_stop),
    "epoch_start": (_Replay.may_epoch_start, _Replay.saw_epoch_start),
    "epoch_stop": (_Replay.may_epoch_stop, _Replay.saw_epoch_stop),
    "save_model": (_Replay.may_save_model, _Replay.saw_save_model),
    "eval_start": (_Replay.may_eval_start, _Replay.saw_eval_start),
    "eval_stop": (_Replay.may_eval_stop, _Replay.saw_eval_stop),
    "eval_accuracy": (_Replay.may_eval_accuracy, _Replay.saw_eval_accuracy),
    "block_start": (_Replay.may_block_start, _Replay.saw_block_start),
    "block_stop": (_Replay.may_block_stop, _Replay.saw_block_stop),
    "eval_result": (_Replay.may_eval_result, _Replay.saw_eval_result),
}
"""The keys that are followed: whether a record may come here, and its effect on the state."""

_NOT_MINIGO = {"block_start", "block_stop", "run_stop"}
"""Records that MiniGo's rules do not list and therefore do not follow."""


def _out_of_order(run: Run, minigo: bool) -> set[int]:
    replay = _Replay(minigo)
    keys = _ORDERED.keys() - _NOT_MINIGO if minigo else _ORDERED
    # In file order over all keys: whether a record is allowed depends on other keys
    indices = sorted([index for key in keys for index in run.where.get(key, ())])
    return {index for index in indices if not replay.judge(run.records[index])}


class in_sequence(Constraint, frozen=True):
    """The state of the run allows the record at its place."""

    rule: str
    minigo: bool = False

    def broken(self, positions: list[int], run: Run) -> list[int]:
        indices = run.memo.get(("0.6 order", self.minigo))
        if indices is None:
            indices = run.memo["0.6 order", self.minigo] = _out_of_order(run, self.minigo)
        return [index for index in positions if index in indices]

    def holds(self, record: Record, run: Run) -> bool:
        return not self.broken([run.position], run)

    def text(self) -> str:
        return self.rule

    def actual(self, record: Record) -> Any:
        return record.metadata

    def says(self, record: Record, run: Run | None) -> str:
        return f"{record.key} is out of sequence; must be logged {self.rule}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {key} {self.rule}"
