"""`podium results build`: rounds read and judged once each, and written as a store's tables."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.files.atomic import draft_folder, new_file
from podium.compliance.files.durable import sync_path
from podium.compliance.files.optional_imports import needed
from podium.compliance.files.staging import PREFIX, discard, remove_disposable
from podium.compliance.files.states import State, state_of
from podium.compliance.judging.discovery import discover
from podium.compliance.judging.files import FileVerdict, LogCollector
from podium.compliance.judging.inputs.round_selection import RoundRequest, forget
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.review.material import Home
from podium.compliance.tools.review.records import manifest_of
from podium.compliance.tools.scoring.session import results_of
from podium.compliance.tools.store.building.records import EXTRA, LogRows, take
from podium.compliance.tools.store.building.rows import Material, TakenLog, small_tables
from podium.compliance.tools.store.building.writing import Records, write_evaluations, write_rows
from podium.compliance.tools.store.index import (
    NAME,
    RoundEntry,
    plain_name,
    read_index,
    write_index,
)
from podium.compliance.tools.store.schema import TABLES
from podium.compliance.version import VERSION as PODIUM
from podium.logging_spec.limits import read_json
from podium.rules.catalogue import find_round
from podium.rules.model.round import Round


class Files(msgspec.Struct, frozen=True):
    """The files below a round's folder, by their paths there, each with its state.

    A store has the states alone: it may be handed on, and the folder is nobody else's business.
    """

    root: str
    states: dict[str, State]

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(state[0] for state in self.states.values())

    def hash(self) -> str:
        """A hash of every name, size and content."""
        hashed = hashlib.blake2b(digest_size=16)
        # Also of what cannot be read, and of files beyond those that a manifest has
        for path, state in sorted(self.states.items()):
            hashed.update(f"{state[0]} {path}\n".encode("utf-8", "surrogateescape"))
        for path, content in sorted(manifest_of([Home("", Path(self.root), "")]).items()):
            hashed.update(f"{content} {path}\n".encode("utf-8", "surrogateescape"))
        return hashed.hexdigest()

    def changed(self) -> str:
        """A file that is not as it was when these were looked at; empty where all are."""
        now = files_of(Path(self.root)).states
        if now == self.states:
            return ""
        differing = {*self.states.items()} ^ {*now.items()}
        return min(path for path, _ in differing)


def files_of(root: Path) -> Files:
    """The files below a folder as they are; raises NothingToJudge where there is no such folder."""
    if not root.is_dir():
        raise NothingToJudge(f"no such folder: {root}")
    return Files(os.path.realpath(root), dict(_states(root)))


def _states(root: Path) -> Iterator[tuple[str, State]]:
    for folder, folders, names in os.walk(root):
        # A clone's own bookkeeping changes with every fetch
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(folder, name)
            try:
                told = os.lstat(path)
            except OSError:
                continue
            yield os.path.relpath(path, root), state_of(told)


STATES = "files.json"
"""Beside a round's tables: the files they were made of."""

Tell = Callable[[str], None]
"""Called with a line on what is done."""


class Built(msgspec.Struct, frozen=True):
    """What a build did: the rounds that are in the store now, and those that it read."""

    rounds: list[RoundEntry]
    read: list[str]


def build(
    paths: Sequence[Path],
    store: Path,
    options: Options,
    *,
    force: bool = False,
    durable: bool = True,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> Built:
    """Bring rounds into a store, each in place of one of the same name; other rounds stay.

    A round whose files are those it was made of is not read, unless forced. Each is in the store as
    soon as it is whole, and on the disk unless it need not be durable; what interrupts a build
    leaves the rounds of before. Raises UsageFault for a store of another version, a path twice, or
    a file that changes while it is read.
    """
    needed("pyarrow", "a store", EXTRA)
    # A Python caller may have changed a podium.toml between two calls
    forget()
    told = tell or str
    roots = _named(paths)
    known = _known(store)
    with _made(store, durable):
        read: list[str] = []
        for name, root in roots.items():
            files = files_of(root)
            rules = RoundRequest(options.usage, options.round).choose(root).rules
            source = _Source(root, name, rules, files, durable)
            if not force and _unchanged(source, known.get(name), store):
                told(f"{name}: unchanged")
                continue
            with _system_memory():
                entry = _bring(source, store, options, progress)
            read.append(name)
            # Read again: another build may have brought rounds meanwhile
            known = _known(store)
            replaced = known.get(name)
            known[name] = entry
            write_index(store, [*known.values()], durable=durable)
            if replaced is not None and replaced.folder != entry.folder:
                discard(store / replaced.folder)
            told(f"{name}: {entry.rows['records']:,} records, {entry.rows['results']:,} results")
    return Built([*_known(store).values()], read)


@contextmanager
def _system_memory() -> Iterator[None]:
    """Take Arrow's memory from the system, and give back at the end what a round had.

    Arrow's own pool keeps it: over 17 rounds in full that is 1.1 GB in place of 0.7 GB.
    """
    arrow = needed("pyarrow", "a store", EXTRA)
    before, pool = arrow.default_memory_pool(), arrow.system_memory_pool()
    arrow.set_memory_pool(pool)
    try:
        yield
    finally:
        arrow.set_memory_pool(before)
        pool.release_unused()


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """The rounds by the names of their folders."""
    found: dict[str, Path] = {}
    for path in paths:
        root = path.absolute()
        # The folder that is called `.` has a name all the same
        name = root.resolve().name if root.name in ("", "..") else root.name
        if name in found and found[name].resolve() != root.resolve():
            raise UsageFault(
                f"{found[name]} and {root} have the same name, which tells rounds of a store apart"
            )
        found[name] = root
    return found


def _known(store: Path) -> dict[str, RoundEntry]:
    if not (store / NAME).exists():
        return {}
    return {entry.name: entry for entry in read_index(store).rounds}


@contextmanager
def _made(store: Path, durable: bool) -> Iterator[None]:
    """The store's folder; what is new of it is removed again where no round comes into it."""
    place = store.absolute()
    missing = [each for each in (place, *place.parents) if not each.exists()]
    fresh = not (place / NAME).exists()
    try:
        _make(store, durable)
        yield
    finally:
        with suppress(OSError, UsageFault):
            if fresh and not _known(store):
                (place / NAME).unlink(missing_ok=True)
                for each in missing:
                    each.rmdir()


def _make(store: Path, durable: bool) -> None:
    place = store.absolute()
    new = [each for each in (place, *place.parents) if not each.exists()]
    try:
        if not new and not (place / NAME).exists() and not _unfinished(place):
            raise UsageFault(f"{store} is no store, and not empty; choose a new folder")
        place.mkdir(parents=True, exist_ok=True)
        for each in new if durable else ():
            sync_path(each.parent)
    except OSError as error:
        raise UsageFault(f"{store} cannot be made: {error.strerror}") from None
    remove_disposable(store / NAME, whatever=True)
    if not (store / NAME).exists():
        # By it a store is known, whenever the build of its first round ends
        write_index(store, [], durable=durable)


def _unfinished(folder: Path) -> bool:
    """Whether a folder holds nothing but what first builds that were killed have left."""
    return all(each.name.startswith(PREFIX) for each in folder.iterdir())


# --- one round ------------------------------------------------------------------------------------


def _unchanged(source: _Source, entry: RoundEntry | None, store: Path) -> bool:
    """Whether the store has a round of these files, judged by the same rules of this podium."""
    rules, files = source.rules, source.files
    if entry is None or (entry.suite, entry.round, entry.rules) != (
        rules.usage,
        rules.name,
        PODIUM,
    ):
        return False
    folder = store / entry.folder
    if not all((folder / f"{table.name}.parquet").is_file() for table in TABLES):
        return False
    with suppress(OSError, ValueError, msgspec.ValidationError):
        with open_plain(folder / STATES) as stream:
            told = read_json(stream.read().decode())
        if msgspec.convert(told, dict[str, State]) == files.states:
            return True
    return entry.hash == files.hash()


class _Source(msgspec.Struct, frozen=True):
    """A round to read: its folder, the name that it has in the store, its rules and its files."""

    root: Path
    name: str
    rules: Round
    files: Files
    durable: bool


def _bring(source: _Source, store: Path, options: Options, progress: Progress | None) -> RoundEntry:
    files = source.files
    content = files.hash()
    folder = store / f"{plain_name(source.name)[:80]}-{content[:12]}"
    used = {entry.folder for entry in _known(store).values()}
    if folder.name in used:
        # Forced, or judged by another podium: readers have the old one until the index names this
        folder = folder.with_name(f"{folder.name}-{_free(folder)}")
    if folder.exists():
        # A build was killed between this and the index, which does not name it
        discard(folder)
    with draft_folder(folder, durable=source.durable) as draft:
        material, rows = _read(source, options, draft, progress)
        for table, found in small_tables(material):
            rows[table] = write_rows(draft, _TABLES[table], found)
        rows["evaluations"] = write_evaluations(draft, material)
        with new_file(draft / STATES) as stream:
            stream.write(json_text(files.states, None).encode())
        # While a round was read nobody held its files
        if changed := files.changed():
            raise UsageFault(f"{source.root / changed} changed while it was read; build again")
    return RoundEntry(
        name=source.name,
        suite=source.rules.usage,
        round=source.rules.name,
        folder=folder.name,
        hash=content,
        rules=PODIUM,
        files=len(files.states),
        bytes=files.size,
        rows=rows,
    )


_TABLES = {table.name: table for table in TABLES}


def _free(folder: Path) -> int:
    number = 2
    while folder.with_name(f"{folder.name}-{number}").exists():
        number += 1
    return number


def _read(
    source: _Source, options: Options, draft: Path, progress: Progress | None
) -> tuple[Material, dict[str, int]]:
    """Read and judge a round once; its records are written as they come."""
    root, name = source.root, source.name
    logs: dict[str, TakenLog] = {}
    with Records(draft) as records:

        def receive(one: FileVerdict) -> None:
            taken: Any = one.taken
            if isinstance(taken, LogRows):
                records.add(one, name if one.display_path == "." else f"{name}/{one.display_path}")
                count = taken.batch.num_rows
                # Without the records: a round's would stay in memory to the end
                kept = msgspec.structs.replace(taken, batch=None)
                logs[one.display_path] = TakenLog(find_round(*one.round.split()), count, kept)

        inputs = discover([root], options, with_facts=True)
        taking = LogCollector(take, receive)
        outcome, files = check_inputs(inputs, options, progress, taking=taking)
    results = [*results_of(files, options)]
    material = Material(root, name, outcome, results, logs, source.rules)
    return material, {"records": records.writer.rows}
