"""One watched log: its file, its guard, and the changes since the last poll."""

from __future__ import annotations

import os
from dataclasses import dataclass

from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest
from podium.compliance.judging.logs.judge import LogVerdict, judge_log
from podium.compliance.tools.live.guard import Guard
from podium.compliance.tools.live.partial.certain import line_findings
from podium.compliance.tools.live.partial.declared import Expected, reference_at
from podium.compliance.tools.live.watching.growing import GrowingLog, Piece, Tail
from podium.compliance.tools.live.watching.status import Status, status_of_run
from podium.logging_spec.reader.record import Record
from podium.rules.finding import Finding, Profile, Severity

_OPENERS = frozenset({"cache_clear", "init_start", "init_stop", "run_start"})
"""Keys at the start of a run: a replaced file that starts with one is another run."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of the judgement."""

    usage: str | None = None
    round: str | None = None
    division: str | None = None
    benchmark: str | None = None
    profile: Profile = Profile.POLICY


class Watched:
    """The part of a log that has been read."""

    def __init__(self, path: str, options: WatchOptions) -> None:
        self.path, self.options = path, options
        folder = os.path.dirname(path) or "."
        self.choice: Choice = RoundRequest(options.usage, options.round).choose(folder)
        self.tail = Tail(path)
        self.quiet = False
        self.verdict: LogVerdict | None = None
        self._pending: bytes | None = None
        self._begin()

    def _begin(self) -> None:
        self.log = GrowingLog(self.path)
        self.guard = self._guard()
        self.faults = 0
        self.verdict = None
        self._expected: tuple[object, Expected] | None = None

    def _guard(self) -> Guard:
        options = self.options
        guard = Guard(
            self.choice.rules,
            options.division,
            options.benchmark,
            profile=options.profile,
            path=self.path,
            # The page itself lists missing keys
            advises=False,
        )
        # Looked up at each call, because feeding may replace the inner log
        guard.run.line_of = lambda index: self.log.log.line(index)
        return guard

    def poll(self) -> bool:
        """Read new records and let the guard judge them; return whether there were any."""
        self.quiet = True
        for piece in self.tail.poll():
            self.quiet = False
            self._take(piece)
        if not self.quiet:
            self.verdict = None
        return not self.quiet

    def _take(self, piece: Piece) -> None:
        if piece.kind == "truncated":
            self._pending = None
            self._begin()
            return
        if piece.kind == "replaced":
            # Only its first records show whether a new file continues the run
            self._pending = b""
            return
        records = self._feed(piece.data)
        if self.log.begun_anew:
            self.log.begun_anew = False
            # A newer line format voids all earlier lines and their findings
            self.guard, records = self._guard(), self.log.log.records[:]
        self._judge(records)
        self._judge_faults()

    def _feed(self, data: bytes) -> list[Record]:
        """The records that new bytes complete; for a new file, after it is recognized."""
        if self._pending is None:
            return self.log.feed(data)
        self._pending = pending = self._pending + data
        # In a separate log: the run of these records is not known yet
        first = GrowingLog(self.path).feed(pending)
        if not first:
            return []
        self._pending = None
        if any(record.key in _OPENERS for record in first[:50]):
            self._begin()
        return self.log.feed(pending)

    def _judge(self, records: list[Record]) -> None:
        # Rules of another line format do not apply to single records; the end judges the whole log
        if self.log.log.generation != self.choice.rules.generation:
            return
        for record in records:
            self.guard(record)

    def _judge_faults(self) -> None:
        log = self.log.log
        new, self.faults = log.faults[self.faults :], len(log.faults)
        # Text in UTF-16 has null bytes, and no line with a token
        if new or (not log.records and b"\0" in log.data):
            self.guard.report(line_findings(log, new, self.choice.rules, self.path))

    # --- state ---

    @property
    def stopped(self) -> bool:
        """Whether the run has ended."""
        return "run_stop" in self.guard.run.where

    @property
    def fatal(self) -> Finding | None:
        """The first error, if any."""
        errors = (f for f in self.guard.findings if f.severity is Severity.ERROR)
        return next(errors, None)

    def judge(self) -> LogVerdict:
        """The verdict of `podium check` on the present log."""
        if self.verdict is None:
            rules, profile = self.choice.rules, self.options.profile
            self.verdict = judge_log(self.log.whole(), rules, profile, self.path)
            self.guard.report(self.verdict.findings)
        return self.verdict

    def status(self, now_ms: float) -> Status:
        """The status of the run."""
        return status_of_run(self.path, self.guard, self._reference(), now_ms, self.tail.problem)

    def _reference(self) -> Expected:
        """The reference for the run's batch size, computed once."""
        guard = self.guard
        benchmark = guard.context.benchmark
        if benchmark is None:
            return Expected(reason="the benchmark is not known yet")
        division, batch = guard.context.division, guard.run.number("global_batch_size")
        key = (benchmark.name, division, batch)
        if self._expected is None or self._expected[0] != key:
            rules, profile = self.choice.rules, self.options.profile
            expected = reference_at(rules, benchmark.name, division, batch, profile)
            self._expected = (key, expected)
        return self._expected[1]
