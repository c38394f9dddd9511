"""`podium results build`: rounds read and judged once each, and written as a store's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_folder
from podium.compliance.files.durable import sync_path
from podium.compliance.files.optional_imports import needed
from podium.compliance.files.staging import PREFIX, discard, remove_disposable
from podium.compliance.judging.discovery import discover
from podium.compliance.judging.files import FileVerdict, LogCollector
from podium.compliance.judging.inputs.round_selection import RoundRequest, forget
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.tools.scoring.session import results_of
from podium.compliance.tools.store.building.contents import RoundFiles, files_of
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
from podium.rules.catalogue import find_round
from podium.rules.model.round import Round

Tell = Callable[[str], None]
"""Called with a line about each step."""


class Built(msgspec.Struct, frozen=True):
    """The result of a build: the rounds in the store, and the rounds that it read."""

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
    """Add rounds to a store; each replaces the round of the same name, other rounds stay.

    A round whose files did not change is only read with `force`. Each round is in the store as soon
    as it is complete, and flushed to disk if `durable`; an interrupted build keeps the rounds of
    before. Raises UsageFault for a store of another version, a repeated path, or a file that
    changes while it is read.
    """
    needed("pyarrow", "a store", EXTRA)
    # A Python caller may have changed a podium.toml between two calls
    forget()
    notify = tell or str
    roots = _named(paths)
    entries = _known(store)
    with _made(store, durable):
        read: list[str] = []
        for name, root in roots.items():
            files = files_of(root)
            rules = RoundRequest(options.usage, options.round).choose(root).rules
            source = _Source(root, name, rules, files, files.hash(), durable)
            if not force and _unchanged(source, entries.get(name), store):
                notify(f"{name}: unchanged")
                continue
            with _system_memory():
                entry = _bring(source, store, options, progress)
            read.append(name)
            # Read again: another build may have added rounds in the meantime
            entries = _known(store)
            replaced = entries.get(name)
            entries[name] = entry
            write_index(store, [*entries.values()], durable=durable)
            if replaced is not None and replaced.folder != entry.folder:
                discard(store / replaced.folder)
            notify(f"{name}: {entry.rows['records']:,} records, {entry.rows['results']:,} results")
    return Built([*_known(store).values()], read)


@contextmanager
def _system_memory() -> Iterator[None]:
    """Let Arrow allocate memory from the system, and release a round's memory at the end.

    Arrow's own pool keeps it: over 17 full rounds this is 1.1 GB instead of 0.7 GB.
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
    rounds: dict[str, Path] = {}
    for path in paths:
        root = path.absolute()
        # The folder `.` has a name, too
        name = root.resolve().name if root.name in ("", "..") else root.name
        if name in rounds and rounds[name].resolve() != root.resolve():
            raise UsageFault(
                f"{rounds[name]} and {root} have the same name; rounds of a store need unique names"
            )
        rounds[name] = root
    return rounds


def _known(store: Path) -> dict[str, RoundEntry]:
    if not (store / NAME).exists():
        return {}
    return {entry.name: entry for entry in read_index(store).rounds}


@contextmanager
def _made(store: Path, durable: bool) -> Iterator[None]:
    """The store's folder; if it is new and gets no round, it is removed again."""
    folder = store.absolute()
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    is_new = not (folder / NAME).exists()
    try:
        _make(store, durable)
        yield
    finally:
        with suppress(OSError, UsageFault):
            if is_new and not _known(store):
                (folder / NAME).unlink(missing_ok=True)
                for parent in missing:
                    parent.rmdir()


def _make(store: Path, durable: bool) -> None:
    folder = store.absolute()
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        if not new and not (folder / NAME).exists() and not _unfinished(folder):
            raise UsageFault(f"{store} is not a store and not empty; choose a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        for parent in new if durable else ():
            sync_path(parent.parent)
    except OSError as error:
        raise UsageFault(f"{store} cannot be created: {error.strerror}") from None
    remove_disposable(store / NAME, whatever=True)
    if not (store / NAME).exists():
        # It marks the folder as a store, even if the build of the first round is interrupted
        write_index(store, [], durable=durable)


def _unfinished(folder: Path) -> bool:
    """Whether a folder contains only the remains of first builds that were killed."""
    return all(path.name.startswith(PREFIX) for path in folder.iterdir())


# --- one round ------------------------------------------------------------------------------------


def _unchanged(source: _Source, entry: RoundEntry | None, store: Path) -> bool:
    """Whether the store has a round of these files, judged by the same rules and version."""
    rules = source.rules
    if entry is None or (entry.suite, entry.round, entry.rules) != (
        rules.usage,
        rules.name,
        PODIUM,
    ):
        return False
    folder = store / entry.folder
    if not all((folder / f"{table.name}.parquet").is_file() for table in TABLES):
        return False
    return entry.hash == source.content


class _Source(msgspec.Struct, frozen=True):
    """A round to read: its folder, its name in the store, its rules, its files and their hash."""

    root: Path
    name: str
    rules: Round
    files: RoundFiles
    content: str
    durable: bool


def _bring(source: _Source, store: Path, options: Options, progress: Progress | None) -> RoundEntry:
    files, content = source.files, source.content
    folder = store / f"{plain_name(source.name)[:80]}-{content[:12]}"
    used = {entry.folder for entry in _known(store).values()}
    if folder.name in used:
        # Forced, or judged by another version: readers use the old one until the index names this
        folder = folder.with_name(f"{folder.name}-{_free(folder)}")
    if folder.exists():
        # A build was killed before it wrote the index, which does not name this folder
        discard(folder)
    with draft_folder(folder, durable=source.durable) as draft:
        material, rows = _read(source, options, draft, progress)
        for table, table_rows in small_tables(material):
            rows[table] = write_rows(draft, _TABLES[table], table_rows)
        rows["evaluations"] = write_evaluations(draft, material)
        # The files were not locked while the round was read
        if changed := files.changed(content):
            raise UsageFault(f"{source.root / changed} changed while it was read; build again")
    return RoundEntry(
        name=source.name,
        suite=source.rules.usage,
        round=source.rules.name,
        folder=folder.name,
        hash=content,
        rules=PODIUM,
        files=files.count,
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
    """Read and judge a round once; its records are written immediately."""
    root, name = source.root, source.name
    logs: dict[str, TakenLog] = {}
    with Records(draft) as records:

        def receive(judged: FileVerdict) -> None:
            log_rows: Any = judged.taken
            if isinstance(log_rows, LogRows):
                records.add(
                    judged, name if judged.display_path == "." else f"{name}/{judged.display_path}"
                )
                count = log_rows.batch.num_rows
                # Without the records: those of a whole round would stay in memory
                summary = msgspec.structs.replace(log_rows, batch=None)
                logs[judged.display_path] = TakenLog(
                    find_round(*judged.round.split()), count, summary
                )

        inputs = discover([root], options, with_facts=True)
        taking = LogCollector(take, receive)
        outcome, files = check_inputs(inputs, options, progress, taking=taking)
    results = [*results_of(files, options)]
    material = Material(root, name, outcome, results, logs, source.rules)
    return material, {"records": records.writer.rows}
