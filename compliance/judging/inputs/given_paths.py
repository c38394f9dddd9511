"""The PATHs of a call: paths on this disk, or URLs whose trees are fetched into a private folder.

A report judges a tree and not a stream of logs: folders are listed, names and sizes compared, a
file is read by several rules and by several processes, and a store hashes it. To read each file in
place would ask a bucket for the same bytes several times. Once fetched, the files are read by the
same code as all others, and the report is the same. The folder holds what one call reads, within
limits, and goes with it.

podium knows nothing of schemes: fsspec does, with the package that each needs. Only the command
line names URLs; no file that is read can.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Any, NamedTuple, TypeVar

import msgspec

from podium.compliance.errors import ComplianceError, NothingToJudge, UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.files.staging import remove_disposable, staging
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.placing import based

Given = TypeVar("Given")

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")
"""How a URL begins, or one within another. A scheme has two letters: one is a drive of Windows."""


class GivenPaths(NamedTuple):
    """Paths on this disk, in the order that they were given.

    `names` has, for the folder of a tree that was made for the call, what stands for it in reports:
    the first part of its URL, or the folder whose podium.toml names its files.
    """

    paths: list[Path]
    names: Mapping[str, str] = {}

    @property
    def own(self) -> list[Path]:
        """The paths that were on this disk before the call."""
        return [
            path for path in self.paths if not any(holds(place, str(path)) for place in self.names)
        ]

    def seen(self, report: Outcome, root: str) -> Outcome:
        """A report with what to put in front of its paths, seen from `root` or as URLs."""
        if not self.own and len(self.paths) == 1:
            (path,) = self.paths
            folder = path if path.is_dir() else path.parent
            # Wherever it lies: to the user it is nowhere on this disk
            return self.as_given(msgspec.structs.replace(report, base=str(folder)))
        return self.as_given(based(report, self.paths, root))

    def as_given(self, value: Given) -> Given:
        """A text, or structs, lists and objects of texts, with URLs in place of where they lie."""
        return self._named(value) if self.names else value

    def _named(self, value: Any) -> Any:
        # Exactly a text, a list: enumerations and named tuples hold no paths
        if type(value) is str:
            for place, name in self.names.items():
                value = value.replace(place, name)
            return value
        if isinstance(value, msgspec.Struct):
            held = {name: self._named(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **held)
        if isinstance(value, dict):
            return {key: self._named(held) for key, held in value.items()}
        return [*map(self._named, value)] if type(value) is list else value


@contextmanager
def at_hand(given: Sequence[str]) -> Iterator[GivenPaths]:
    """The paths of a call, where they can be read until the context ends; URLs are fetched.

    Raises UsageFault, NothingToJudge for a URL that cannot be. Such faults name URLs as they were
    given, those raised within the context, too.
    """
    if not any(map(URL.match, given)):
        yield GivenPaths([*map(Path, given)])
        return

    with fetched(given) as there:
        try:
            yield there
        except ComplianceError as error:
            raise type(error)(there.as_given(str(error))) from None


EXTRA = "remote"
"""The extra that brings the library."""

MOST_BYTES = 64 << 30
"""Bytes of all URLs of a call together: those of the largest archive that is unpacked."""

MOST_FILES = 200_000
"""Files of all URLs of a call together: those of the largest archive that is unpacked."""

AT_ONCE = 16
"""Files that are fetched at a time: a store far away takes longer to answer than to send."""

PIECE = 1 << 20
"""Bytes that are read at a time."""

LOCAL = {"file", "local"}
"""What fsspec calls this disk: it is read in place, so that its links are seen as such."""

_SECRET = re.compile(r"(?<=://)[^/?#]*@")
_SIGNED = re.compile(r"(https?://[^?#]*)[?#].*", re.IGNORECASE)
"""Where URLs have what nobody else may know: in front of the host, and in the signature of one that
is good for some hours."""


@contextmanager
def fetched(given: Sequence[str]) -> Iterator[GivenPaths]:
    """The trees of URLs on this disk, other paths as they are; what was fetched goes at the end.

    Raises NothingToJudge where there is no such tree, UsageFault where it cannot be read, is larger
    than the limits, or has names that no folder can hold.
    """
    library = needed("fsspec", "a URL", EXTRA)
    with private_folder("podium-remote") as folder:
        # The rules are not to be chosen by what lies above, in a folder that all users share
        (folder / "podium.toml").touch()
        budget = _Budget()
        paths: list[Path] = []
        names: dict[str, str] = {}
        for number, path in enumerate(given):
            if not URL.match(path):
                paths.append(Path(path))
                continue
            own = folder / str(number)
            paths.append(_fetch(library, path, own, budget))
            names[str(own)] = f"{path.partition('://')[0]}:/"
        yield GivenPaths(paths, names)


@contextmanager
def private_folder(name: str) -> Iterator[Path]:
    """A folder for what one call reads, removed at the end; also those that killed calls left."""
    place = Path(tempfile.gettempdir(), name)
    # No other call would remove what a killed call has left
    remove_disposable(place)
    with staging(place, draft=True) as folder:
        yield folder


class _Budget:
    """What may still be fetched, by whichever thread; `over` once nobody wants it any more."""

    def __init__(self) -> None:
        self.bytes, self.files = MOST_BYTES, MOST_FILES
        self.lock, self.over = Lock(), Event()

    def take(self, count: int) -> None:
        """Count bytes that were read; raises UsageFault beyond the limit."""
        with self.lock:
            self.bytes -= count
            if self.bytes < 0:
                raise UsageFault(f"more than {MOST_BYTES >> 30} GiB would be fetched")

    def take_files(self, count: int) -> None:
        """Count files that were listed; raises UsageFault beyond the limit."""
        self.files -= count
        if self.files < 0:
            raise UsageFault(f"more than {MOST_FILES} files would be fetched")


def _fetch(library: Any, url: str, folder: Path, budget: _Budget) -> Path:
    """Where the tree or the file of a URL lies; every fault of a library is one of the user's."""
    shown = _shown(url)
    if "::" in url:
        raise UsageFault(f"{shown}: URLs within URLs are not read; give one")
    try:
        system, root = library.core.url_to_fs(url)
        if LOCAL & {*_texts(system.protocol)}:
            return Path(root)
        return _fetch_from(system, root, url, folder, budget)
    except ComplianceError as error:
        raise type(error)(f"{shown}: {error}") from None
    except FileNotFoundError:
        raise NothingToJudge(f"no such file or folder: {shown}") from None
    except PermissionError:
        raise UsageFault(f"{shown} cannot be read: permission denied") from None
    # Each protocol brings a library with exceptions of its own
    except Exception as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageFault(f"{shown} cannot be read: {_shown(line.replace(url, shown))}") from None


def _shown(url: str) -> str:
    """A URL without what is secret in it."""
    return _SIGNED.sub(r"\1", _SECRET.sub("", url))


def _texts(protocol: Any) -> tuple[str, ...]:
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _fetch_from(system: Any, root: str, url: str, folder: Path, budget: _Budget) -> Path:
    rest = _shown(url).partition("://")[2].strip("/")
    # The folders of the URL, too: a round may be chosen by their names
    if not rest:
        raise UsageFault("names no tree; give a bucket, a folder, a file")
    target = folder / _inside(rest)
    listed: Mapping[str, Any] = {}
    if url.endswith("/") or system.info(root)["type"] != "file":
        listed = system.find(root, withdirs=True, detail=True)
        if not listed:
            raise FileNotFoundError(url)
    tops, wanted = _sorted(listed, root) if listed else ([], {root: ""})
    budget.take_files(len(wanted) + len(tops))
    for each in tops:
        (target / each).mkdir(parents=True, exist_ok=True)
    _copy_all(system, {name: target / path for name, path in wanted.items()}, budget)
    return target


def _sorted(listed: Mapping[str, Any], root: str) -> tuple[list[str], dict[str, str]]:
    """The folders of a listing and its files by their names there; paths lie below its root."""
    folders: list[str] = []
    files: dict[str, str] = {}
    top = root.rstrip("/") + "/"
    for name, about in listed.items():
        if name.rstrip("/") + "/" == top:
            continue
        if not name.startswith(top):
            raise UsageFault(f"{name} lies outside, and is not fetched")
        path = _inside(name.removeprefix(top).rstrip("/"))
        if about.get("islink") or about["type"] not in ("file", "directory"):
            raise UsageFault(f"{path} is a link or a special file, which is not fetched")
        # A store of objects has no folders, but may have an object in place of one
        if about["type"] == "directory" or name.endswith("/"):
            folders.append(path)
        else:
            files[name] = path
    return folders, files


def _inside(path: str) -> str:
    """A path that leads down; raises UsageFault for any other."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part or os.sep in part for part in parts):
        raise UsageFault(f"{path!r} is no name that a folder can hold")
    return path


def _copy_all(system: Any, wanted: Mapping[str, Path], budget: _Budget) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        try:
            for target in {target.parent for target in wanted.values()}:
                target.mkdir(parents=True, exist_ok=True)
            copies = [
                threads.submit(_copy, system, name, target, budget)
                for name, target in wanted.items()
            ]
            for copy in copies:
                copy.result()
        except FileExistsError as error:
            raise UsageFault(f"{Path(error.filename).name} is a file and a folder") from None
        finally:
            # After a fault or an interrupt nobody wants the rest
            budget.over.set()
            threads.shutdown(cancel_futures=True)
            budget.over.clear()


def _copy(system: Any, name: str, target: Path, budget: _Budget) -> None:
    # Never over what is there: what two names lead to is no tree
    with system.open(name, "rb") as source, target.open("xb") as copied:
        while not budget.over.is_set() and (piece := source.read(PIECE)):
            budget.take(len(piece))
            copied.write(piece)
