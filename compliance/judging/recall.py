"""`podium check --cache`: unchanged files are not checked again.

A cached verdict is found by the log's content and everything else that it depends on; other files
are found by their content. Comparisons between files are always done again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.files.states import State, settled, state_of
from podium.compliance.judging.cache.kept import (
    CacheContent,
    KeptContents,
    KeptLog,
    frozen_verdict,
    hash_of,
    hash_of_file,
    kept_from,
    thawed,
    to_bytes,
)
from podium.compliance.judging.cache.shelf import Damaged, Refused, Shelf
from podium.compliance.judging.cache.tool import LogScope, RoundDigests, tool_digest, value_digest
from podium.compliance.judging.files import FileVerdict, LogCollector, Task, as_judged
from podium.compliance.judging.inputs.house_rules import HouseRule
from podium.compliance.judging.inputs.listing import Item
from podium.compliance.judging.options import Options
from podium.compliance.judging.repository.contents import Contents, Examine, Memory
from podium.compliance.judging.repository.secrets import read_head
from podium.logging_spec import keys
from podium.logging_spec.reader.read import Fault, Log
from podium.rules.catalogue import find_round

Tell = Callable[[str], None]
"""Called with a message about the reason why the cache is not used."""

_BENCHMARK, _DIVISION = keys.SUBMISSION_BENCHMARK.name, keys.SUBMISSION_DIVISION.name


class LogDigest(msgspec.Struct, frozen=True):
    """The digest of a log, from the process that checks it. `judged`: the hash is of checked data.

    Otherwise it is of the file, which was read again, because a large or a compressed log is not
    kept in memory as a whole.
    """

    content: bytes
    judged: bool
    named: LogScope


def seen(task: Task, log: Log) -> LogDigest | None:
    """The digest for a verdict in the cache; None for a file that is unreadable or not a log."""
    if task.kind != "log" or any(fault.kind is Fault.UNREADABLE for fault in log.faults):
        return None
    is_complete = bool(log.data) and len(log.data) == log.size
    content = hash_of(log.data) if is_complete else hash_of_file(task.path)
    return None if content is None else LogDigest(content, is_complete, _named(log))


def _named(log: Log) -> LogScope:
    values: dict[str, dict[Any, None]] = {_BENCHMARK: {}, _DIVISION: {}}
    records = [*log.records, *(record for _, record in log.lenient)]
    for record in records:
        if record.key in values:
            values[record.key][record.value if type(record.value) is str else None] = None
    benchmarks, divisions = values[_BENCHMARK], values[_DIVISION]
    is_known = log.generation == "mllog" and None not in benchmarks and None not in divisions
    return LogScope(tuple(filter(None, benchmarks)), tuple(filter(None, divisions)), is_known)


class Recall:
    """The cached results of the previous call of `podium check`, and the results for the next.

    `partial`: the call checks only a part of its paths; the cache keeps its results for the rest.
    """

    def __init__(self, shelf: Shelf, name: str, tell: Tell, *, partial: bool = False) -> None:
        self.shelf, self.name, self.tell, self.partial = shelf, name, tell, partial
        self.taking = LogCollector(seen, self._receive)
        self.before, self.usable, self.changed = CacheContent(), True, False
        self._read()
        self.now = CacheContent(tool_digest())
        self.looked: dict[str, tuple[Task, State | None, int]] = {}
        self.keys = _Keys()

    def _read(self) -> None:
        try:
            self.shelf.open()
            body = self.shelf.read(self.name)
            content = CacheContent() if body is None else kept_from(body)
        except Damaged as damaged:
            self.tell(f"cache not used: {damaged}; it is created again")
        except (Refused, msgspec.MsgspecError) as refused:
            self.usable = False
            self.tell(f"cache not used: {refused}")
        else:
            # Another version of podium or of a library may have other results
            self.before = content if content.tool == tool_digest() else CacheContent()

    # --- logs ---

    def recall(self, tasks: Iterable[Task]) -> dict[str, FileVerdict]:
        """The cached verdicts, by the path of the file."""
        logs = (task for task in tasks if self.usable and task.kind == "log")
        return {task.path: verdict for task in logs if (verdict := self._known(task)) is not None}

    def _known(self, task: Task) -> FileVerdict | None:
        looked_ns, state = time.time_ns(), _state(task.path)
        self.looked[task.path] = (task, state, looked_ns)
        entry = self.before.logs.get(task.display_path)
        if entry is None or state is None or entry.key != self.keys.of(task, entry.named):
            return None
        # Only by its content: another file may have the same times
        if hash_of_file(task.path) != entry.content:
            return None
        try:
            verdict = thawed(entry.verdict)
        except msgspec.MsgspecError:
            return None
        self.now.logs[task.display_path] = entry
        return as_judged(task, verdict, find_round(task.usage, task.round))

    def _receive(self, file: FileVerdict) -> None:
        task, state, looked_ns = self.looked.get(file.path, (None, None, 0))
        digest = file.taken
        if task is None or state is None or not isinstance(digest, LogDigest):
            return
        key = self.keys.of(task, digest.named)
        # Before its findings are marked as waived
        verdict = None if key is None else frozen_verdict(file.verdict)
        is_stable = settled(state, looked_ns) and _state(file.path) == state
        if key is None or verdict is None or not (is_stable or digest.judged):
            return
        if _writable(file.display_path):
            entry = KeptLog(key, digest.content, digest.named, verdict)
            self.now.logs[file.display_path] = entry
            self.changed = True

    # --- other files ---

    def contents(self, root: Path) -> Memory | None:
        """The memory of a submission's files other than logs; None without a usable cache."""
        if not self.usable:
            return None
        base = os.path.realpath(root)

        def remember(item: Item, limit: int, examine: Examine) -> Contents:
            key = f"{base}/{item.path}"
            state, data = _state(item.full, link=True), read_head(item.full, limit)
            content, entry = hash_of(data), self.before.contents.get(key)
            is_known = entry is not None and entry.content == content
            if entry is None or not is_known:
                entry = KeptContents(content, examine(data))
            # A file that cannot be read, or has changed in the meantime, is read again next time
            if state is not None and state[0] == item.size and data and _writable(key):
                self.now.contents[key] = entry
                self.changed |= not is_known
            return entry.held

        return remember

    # --- at the end ---

    def keep(self) -> None:
        """Store the results for the next call."""
        if not self.usable:
            return
        old, new = self.before, self.now
        if self.partial:
            new.logs, new.contents = old.logs | new.logs, old.contents | new.contents
        removed = old.logs.keys() - new.logs.keys() or old.contents.keys() - new.contents.keys()
        if not self.changed and not removed:
            self.shelf.use(self.name)
            return
        try:
            self.shelf.write(self.name, to_bytes(new))
        except Refused as refused:
            self.tell(f"cache not written: {refused}")


class _Keys:
    """Hashes of everything that a verdict depends on, except its log's content and path."""

    def __init__(self) -> None:
        self._digests = RoundDigests()
        self._known: dict[tuple[Any, ...], bytes | None] = {}

    def of(self, task: Task, scope: LogScope) -> bytes | None:
        """The key of a task's verdict; None if it depends on something without a hash."""
        options = (
            task.usage,
            task.round,
            task.profile,
            task.with_facts,
            task.with_trace,
            task.leads_out,
        )
        key = (*options, id(task.house), scope)
        if key not in self._known:
            self._known[key] = None
            with suppress(TypeError):
                house = [rule for rule in task.house if _touches(rule, scope)]
                rules = self._digests.of(find_round(task.usage, task.round), scope)
                self._known[key] = value_digest([options, rules, house])
        return self._known[key]


def _touches(rule: HouseRule, scope: LogScope) -> bool:
    """Whether a rule of a podium.toml may apply to a log."""
    if not scope.known:
        return True
    benchmark_applies = not rule.benchmarks or not {*rule.benchmarks}.isdisjoint(scope.benchmarks)
    divided = rule.divisions and scope.divisions
    return benchmark_applies and not (divided and {*rule.divisions}.isdisjoint(scope.divisions))


def _state(path: str, *, link: bool = False) -> State | None:
    """The state of a regular file, or of the target of a link; None for anything else.

    With `link`, a link does not count as a file.
    """
    try:
        status = os.stat(path, follow_symlinks=not link)
    except (OSError, ValueError):
        return None
    return state_of(status) if stat.S_ISREG(status.st_mode) else None


def _writable(path: str) -> bool:
    """Whether a path is valid text that can be written to the cache."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def name_of(paths: Iterable[Path], options: Options, *, for_scores: bool) -> str:
    """The name of a call in the cache, from its paths and how they are checked and shown."""
    texts = [str(path) for path in paths]
    # With several paths, each is a part of the displayed paths
    names = [os.path.realpath(path) for path in texts] + (texts if len(texts) > 1 else [])
    settings = [options.usage, options.round, options.profile.value, for_scores]
    return value_digest([names, settings]).hex()
