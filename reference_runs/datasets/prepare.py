"""Build a dataset from its published source, in pieces, so that a killed call can continue."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from podium.reference_runs.datasets.sums import NAME, sums_text
from podium.reference_runs.errors import DataMissing, RunFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True)
class Piece:
    """A part of the work for one process: it writes files into the folder that it receives."""

    name: str
    make: Callable[[Path], object]
    """Raises DataMissing. Pickled for other processes, so it must be a module-level function."""


@dataclass(frozen=True)
class Recipe:
    """The steps that build a dataset."""

    pieces: Sequence[Piece]
    described: str
    """The sources and settings: existing pieces are reused only if this is unchanged."""
    join: Callable[[Sequence[Path], Path], object] | None = None
    """Builds the dataset's files from the folders of pieces; None if the pieces are these files."""


def work_folder(target: Path) -> Path:
    """The folder of pieces until all are done, next to the new folder."""
    return target.absolute().with_name(f".{target.absolute().name}.podium-parts")


def prepare(
    recipe: Recipe, target: Path, workers: int, watch: Callable[[int], object]
) -> list[Path]:
    """Build a dataset in a new folder, or continue an interrupted call; returns its files.

    The folder gets its final name when everything is done; its `SHA256SUMS` has the checksums of
    the files. `watch` is called with the number of finished pieces. Raises DataMissing for unusable
    sources, RunFault if the folder is not empty, OSError if it cannot be written.
    """
    work = work_folder(target)
    pieces, whole = work / "pieces", work / "whole"
    _begin(recipe, target, work)
    folders = [pieces / piece.name for piece in recipe.pieces]
    watch(sum(folder.is_dir() for folder in folders))
    for _ in _made(recipe, pieces, workers):
        watch(sum(folder.is_dir() for folder in folders))
    if recipe.join is not None:
        recipe.join(folders, _fresh(whole))
    else:
        _collect(folders, whole)
    made = sorted(path for path in whole.rglob("*") if path.is_file() and path.name != NAME)
    (whole / NAME).write_text(sums_text(whole, made), encoding="utf-8")
    _to_the_disk([*made, whole / NAME])
    os.replace(whole, target)
    shutil.rmtree(work)
    return [target / path.relative_to(whole) for path in made]


def _begin(recipe: Recipe, target: Path, work: Path) -> None:
    """Raise RunFault if the folder has files, or its pieces belong to another dataset."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RunFault(f"{target} already exists; choose a new folder")
    plan, wanted = work / "plan.json", json.dumps(recipe.described)
    if plan.exists() and plan.read_text(encoding="utf-8") != wanted:
        raise RunFault(
            f"{work} has pieces of another source or setting; remove it, or choose a new folder"
        )
    (work / "pieces").mkdir(parents=True, exist_ok=True)
    plan.write_text(wanted, encoding="utf-8")


def _made(recipe: Recipe, parts: Path, workers: int) -> Iterator[None]:
    """Build the missing pieces; each gets its final name when it is complete."""
    left = [piece for piece in recipe.pieces if not (parts / piece.name).is_dir()]
    if workers < 2 or len(left) < 2:
        for piece in left:
            _make(piece, parts)
            yield
        return
    # Forked processes would inherit torch's threads
    context = multiprocessing.get_context("spawn")
    count = min(workers, len(left))
    with ProcessPoolExecutor(count, context, initializer=_end_with_parent) as pool:
        running = [pool.submit(_make, piece, parts) for piece in left]
        try:
            for done in as_completed(running):
                done.result()
                yield
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when its parent process is gone, even by SIGKILL."""
    # Ctrl-C is sent to all processes of a terminal: the parent reports it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    # sys.exit would end only this thread
    os._exit(1)


def _make(piece: Piece, parts: Path) -> None:
    draft = _fresh(parts / f"{piece.name}.new")
    piece.make(draft)
    os.replace(draft, parts / piece.name)


def _fresh(folder: Path) -> Path:
    """An empty folder, even if a killed process left one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _collect(folders: Sequence[Path], whole: Path) -> None:
    """Move the files of the pieces into one folder; files moved by an earlier call are skipped."""
    for folder in folders:
        for path in sorted(entry for entry in folder.rglob("*") if entry.is_file()):
            final = whole / path.relative_to(folder)
            final.parent.mkdir(parents=True, exist_ok=True)
            if final.exists():
                raise DataMissing(f"the source contains {final.relative_to(whole)} twice")
            os.replace(path, final)


def _to_the_disk(paths: Sequence[Path]) -> None:
    for path in paths:
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
