"""`podium results build`: rounds read and judged once each, and written as a store's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_folder, new_file
from podium.compliance.files.durable import sync_path
from podium.compliance.files.optional_imports import needed
from podium.compliance.files.staging import PREFIX, discard, leftovers
from podium.compliance.files.states import State
from podium.compliance.judging.discovery import discover
from podium.compliance.judging.files import FileVerdict, LogCollector
from podium.compliance.judging.inputs.round_selection import RoundRequest, forget
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.pipeline import check_inputs
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.scoring.session import results_of
from podium.compliance.tools.store.building.manifest import Files, files_of
from podium.compliance.tools.store.building.records import EXTRA, Taken, take
from podium.compliance.tools.store.building.rows import Material, TakenLog, small_tables
from podium.compliance.tools.store.building.writing import Records, write_evaluations, write_rows
from podium.compliance.tools.store.index import NAME, RoundEntry, read_index, write_index
from podium.compliance.tools.store.schema import TABLES
from podium.compliance.version import VERSION as PODIUM
from podium.logging_spec.limits import read_json
from podium.rules.catalogue import find_round
from podium.rules.model.round import Round

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
    _make(store, durable)
    read: list[str] = []
    for name, root in roots.items():
        files = files_of(root)
        before = known.get(name)
        rules = RoundRequest(options.usage, options.round).choose(root).rules
        judged = before is not None and (before.suite, before.round) == (rules.usage, rules.name)
        if before is not None and judged and not force and _same(store, before, files):
            told(f"{name}: unchanged")
            continue
        with _system_memory():
            entry = _bring(_Source(root, name, rules, files, durable), store, options, progress)
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
    for left in leftovers(store / NAME, whatever=True):
        discard(left.folder)
    if not (store / NAME).exists():
        # By it a store is known, whenever the build of its first round ends
        write_index(store, [], durable=durable)


def _unfinished(folder: Path) -> bool:
    """Whether a folder holds nothing but what first builds that were killed have left."""
    return all(each.name.startswith(PREFIX) for each in folder.iterdir())


# --- one round ------------------------------------------------------------------------------------


def _same(store: Path, entry: RoundEntry, files: Files) -> bool:
    """Whether a round in the store is of these files, and was judged by this podium."""
    if entry.rules != PODIUM:
        return False
    folder = store / entry.folder
    if not all((folder / f"{table.name}.parquet").is_file() for table in TABLES):
        return False
    with suppress(OSError, ValueError, msgspec.ValidationError):
        told = read_json((folder / STATES).read_text(encoding="utf-8"))
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
    folder = store / f"{_plain(source.name)}-{content[:12]}"
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
            write_rows(draft, _TABLES[table], found)
            rows[table] = len(found)
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


def _plain(name: str) -> str:
    return "".join(each if each.isalnum() or each in "._-" else "_" for each in name)[:80]


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
            if isinstance(taken, Taken):
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
