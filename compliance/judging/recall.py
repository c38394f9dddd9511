"""`podium check --cache`: what an earlier check found of files that are as they were is not redone.

A verdict is known again by the log's content and all that it was judged by; other files by what
they hold. Whatever compares files with each other is judged anew.
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
    Kept,
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
from podium.compliance.judging.cache.tool import Named, RoundDigests, tool_digest, value_digest
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
"""Called with a line on what keeps the cache from being used."""

_BENCHMARK, _DIVISION = keys.SUBMISSION_BENCHMARK.name, keys.SUBMISSION_DIVISION.name


class Seen(msgspec.Struct, frozen=True):
    """What the process that judges a log sees of it; `judged`: the hash is of what was judged.

    Else it is of the file read once more, as a large or a compressed one is not held as a whole.
    """

    content: bytes
    judged: bool
    named: Named


def seen(task: Task, log: Log) -> Seen | None:
    """What a verdict is kept by; None for a file that cannot be read, or is no log."""
    if task.kind != "log" or any(each.kind is Fault.UNREADABLE for each in log.faults):
        return None
    whole = bool(log.data) and len(log.data) == log.size
    content = hash_of(log.data) if whole else hash_of_file(task.path)
    return None if content is None else Seen(content, whole, _named(log))


def _named(log: Log) -> Named:
    values: dict[str, dict[Any, None]] = {_BENCHMARK: {}, _DIVISION: {}}
    records = [*log.records, *(record for _, record in log.lenient)]
    for record in records:
        if record.key in values:
            values[record.key][record.value if type(record.value) is str else None] = None
    benchmarks, divisions = values[_BENCHMARK], values[_DIVISION]
    known = log.generation == "mllog" and None not in benchmarks and None not in divisions
    return Named(tuple(filter(None, benchmarks)), tuple(filter(None, divisions)), known)


class Recall:
    """What one call of `podium check` knows from the one before, and leaves for the next.

    `partial`: the call looks at a part of its paths only; what is kept of the rest stays.
    """

    def __init__(self, shelf: Shelf, name: str, tell: Tell, *, partial: bool = False) -> None:
        self.shelf, self.name, self.tell, self.partial = shelf, name, tell, partial
        self.taking = LogCollector(seen, self._receive)
        self.before, self.usable, self.changed = Kept(), True, False
        self._read()
        self.now = Kept(tool_digest())
        self.looked: dict[str, tuple[Task, State | None, int]] = {}
        self.keys = _Keys()

    def _read(self) -> None:
        try:
            self.shelf.open()
            body = self.shelf.read(self.name)
            kept = Kept() if body is None else kept_from(body)
        except Damaged as damaged:
            self.tell(f"cache not used: {damaged}; it is made anew")
        except (Refused, msgspec.MsgspecError) as refused:
            self.usable = False
            self.tell(f"cache not used: {refused}")
        else:
            # Another podium's outcomes may be others; so may those by other libraries
            self.before = kept if kept.tool == tool_digest() else Kept()

    # --- logs ---

    def recall(self, tasks: Iterable[Task]) -> dict[str, FileVerdict]:
        """The verdicts that are known already, by the path of the file."""
        logs = (task for task in tasks if self.usable and task.kind == "log")
        return {task.path: known for task in logs if (known := self._known(task)) is not None}

    def _known(self, task: Task) -> FileVerdict | None:
        looked, state = time.time_ns(), _state(task.path)
        self.looked[task.path] = (task, state, looked)
        kept = self.before.logs.get(task.display_path)
        if kept is None or state is None or kept.key != self.keys.of(task, kept.named):
            return None
        if kept.state != state:
            if hash_of_file(task.path) != kept.content:
                return None
            sure = settled(state, looked) and _state(task.path) == state
            kept = msgspec.structs.replace(kept, state=state if sure else None)
            self.changed |= sure
        try:
            verdict = thawed(kept.verdict)
        except msgspec.MsgspecError:
            return None
        self.now.logs[task.display_path] = kept
        return as_judged(task, verdict, find_round(task.usage, task.round))

    def _receive(self, one: FileVerdict) -> None:
        task, state, looked = self.looked.get(one.path, (None, None, 0))
        found = one.taken
        if task is None or state is None or not isinstance(found, Seen):
            return
        key = self.keys.of(task, found.named)
        # Before anything marks its findings as waived
        verdict = None if key is None else frozen_verdict(one.verdict)
        sure = settled(state, looked) and _state(one.path) == state
        if key is None or verdict is None or not (sure or found.judged):
            return
        if _writable(one.display_path):
            kept = KeptLog(key, found.content, state if sure else None, found.named, verdict)
            self.now.logs[one.display_path] = kept
            self.changed = True

    # --- other files ---

    def contents(self, root: Path) -> Memory | None:
        """What knows the files of a submission that are no logs; None where nothing is kept."""
        if not self.usable:
            return None
        base = os.path.realpath(root)

        def remember(item: Item, most: int, examine: Examine) -> Contents:
            place = f"{base}/{item.path}"
            looked, state = time.time_ns(), _state(item.full, link=True)
            kept = self.before.contents.get(place)
            if kept is None or state is None or kept.state != state:
                data = read_head(item.full, most)
                content = hash_of(data)
                held = kept.held if kept and kept.content == content else examine(data)
                # What cannot be read, and what changes meanwhile, is looked at again
                if state is None or state[0] != item.size or not data or not _writable(place):
                    return held
                sure = settled(state, looked) and _state(item.full, link=True) == state
                self.changed |= sure or kept is None or kept.content != content
                kept = KeptContents(content, state if sure else None, held)
            self.now.contents[place] = kept
            return kept.held

        return remember

    # --- in the end ---

    def keep(self) -> None:
        """Leave what is known now for the next call."""
        if not self.usable:
            return
        before, now = self.before, self.now
        if self.partial:
            now.logs, now.contents = before.logs | now.logs, before.contents | now.contents
        gone = before.logs.keys() - now.logs.keys() or before.contents.keys() - now.contents.keys()
        if not self.changed and not gone:
            self.shelf.use(self.name)
            return
        try:
            self.shelf.write(self.name, to_bytes(now))
        except Refused as refused:
            self.tell(f"cache not written: {refused}")


class _Keys:
    """What a verdict depends on beside its log's content and path, as a hash worked out once."""

    def __init__(self) -> None:
        self._digests = RoundDigests()
        self._known: dict[tuple[Any, ...], bytes | None] = {}

    def of(self, task: Task, named: Named) -> bytes | None:
        """The key of a task's verdict; None where it depends on what has no hash."""
        how = (
            task.usage,
            task.round,
            task.profile,
            task.with_facts,
            task.with_trace,
            task.leads_out,
        )
        known = (*how, id(task.house), named)
        if known not in self._known:
            self._known[known] = None
            with suppress(TypeError):
                house = [each for each in task.house if _touches(each, named)]
                rules = self._digests.of(find_round(task.usage, task.round), named)
                self._known[known] = value_digest([how, rules, house])
        return self._known[known]


def _touches(rule: HouseRule, named: Named) -> bool:
    """Whether a rule of a podium.toml may be about a log."""
    if not named.known:
        return True
    about = not rule.benchmarks or not {*rule.benchmarks}.isdisjoint(named.benchmarks)
    divided = rule.divisions and named.divisions
    return about and not (divided and {*rule.divisions}.isdisjoint(named.divisions))


def _state(path: str, *, link: bool = False) -> State | None:
    """The state of a regular file, or of the one that a link leads to; None for anything else.

    With `link` a link is no file either.
    """
    try:
        status = os.stat(path, follow_symlinks=not link)
    except (OSError, ValueError):
        return None
    return state_of(status) if stat.S_ISREG(status.st_mode) else None


def _writable(path: str) -> bool:
    """Whether a path is text: a name in other bytes has none that could be written."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def name_of(paths: Iterable[Path], options: Options, *, for_scores: bool) -> str:
    """The name by which a cache knows a call: by its paths and by how they are judged and shown."""
    given = [str(path) for path in paths]
    # Of several paths each is a part of the paths shown
    shown = [os.path.realpath(path) for path in given] + (given if len(given) > 1 else [])
    how = [options.usage, options.round, options.profile.value, for_scores]
    return value_digest([shown, how]).hex()
