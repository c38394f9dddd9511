"""The PATHs of a call: local paths, or URLs whose trees are fetched into a private folder.

A check needs a tree, not a stream of logs: folders are listed, names and sizes are compared,
several rules and processes read the same file, and a store hashes it. Reading each file in place
would request the same bytes from a bucket several times. Fetched files are read by the same code as
all others, and the report is the same. The folder has the files of one call, within limits, and is
removed at its end.

podium does not implement URL schemes: fsspec does, with the package that each scheme needs. URLs
can be given only on the command line, not in a file.
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
"""The beginning of a URL, or of a URL in another. A single letter is a drive of Windows, not a
scheme."""


class GivenPaths(NamedTuple):
    """Local paths, in the order of the arguments.

    `names` maps the folder of a tree that was made for the call to its name in reports: the first
    part of its URL, or the folder whose podium.toml names its files.
    """

    paths: list[Path]
    names: Mapping[str, str] = {}

    @property
    def own(self) -> list[Path]:
        """The paths that were local before the call."""
        return [
            path
            for path in self.paths
            if not any(holds(folder, str(path)) for folder in self.names)
        ]

    def seen(self, report: Outcome, root: str) -> Outcome:
        """A report with the prefix of its paths, relative to `root` or as URLs."""
        if not self.names:
            return based(report, self.paths, root)
        if not self.own and len(self.paths) == 1:
            (path,) = self.paths
            folder = path if path.is_dir() else path.parent
            # Wherever the folder is: for the user it is not local
            return self.as_given(msgspec.structs.replace(report, base=str(folder)))
        return self.as_given(based(report, self.paths, root))

    def as_given(self, value: Given) -> Given:
        """A string, or a struct, list or object of strings, with URLs in place of local paths."""
        return self._named(value) if self.names else value

    def _named(self, value: Any) -> Any:
        # Exactly a string, a list: enumerations and named tuples contain no paths
        if type(value) is str:
            for folder, name in self.names.items():
                value = value.replace(folder, name)
            return value
        if isinstance(value, msgspec.Struct):
            fields = {name: self._named(getattr(value, name)) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **fields)
        if isinstance(value, dict):
            return {key: self._named(item) for key, item in value.items()}
        return [*map(self._named, value)] if type(value) is list else value


@contextmanager
def at_hand(arguments: Sequence[str]) -> Iterator[GivenPaths]:
    """The paths of a call, readable until the context ends; URLs are fetched.

    Raises UsageFault or NothingToJudge for a URL that cannot be fetched. These errors, and errors
    raised within the context, name URLs as the user wrote them.
    """
    # pathlib reads it as the working directory
    if "" in arguments:
        raise UsageFault("a PATH is empty; expected a file or a folder, such as .")
    if not any(map(URL.match, arguments)):
        yield GivenPaths([*map(Path, arguments)])
        return

    with fetched(arguments) as paths:
        try:
            yield paths
        except ComplianceError as error:
            raise type(error)(paths.as_given(str(error))) from None


EXTRA = "remote"
"""The extra that installs the library."""

MOST_BYTES = 64 << 30
"""Bytes of all URLs of a call together: the limit for archives that are unpacked."""

MOST_FILES = 200_000
"""Files of all URLs of a call together: the limit for archives that are unpacked."""

AT_ONCE = 16
"""Files that are fetched at the same time: a remote store takes longer to answer than to send."""

PIECE = 1 << 20
"""Bytes that are read at a time."""

LOCAL = {"file", "local"}
"""The protocols of fsspec for local files, which are read in place, so that links stay links."""

_SECRET = re.compile(r"(?<=://)[^/?#]*@")
_SIGNED = re.compile(r"(https?://[^?#]*)[?#].*", re.IGNORECASE)
"""The parts of URLs that are secret: before the host, and the signature of a temporary URL."""


@contextmanager
def fetched(arguments: Sequence[str]) -> Iterator[GivenPaths]:
    """The fetched trees of URLs, and other paths unchanged; fetched files are removed at the end.

    Raises NothingToJudge if a tree does not exist, UsageFault if it cannot be read, is larger than
    the limits, or has invalid file names.
    """
    library = needed("fsspec", "a URL", EXTRA)
    with private_folder("podium-remote") as folder:
        # The rules must not be chosen by files above, in a folder that all users share
        (folder / "podium.toml").touch()
        budget = _Budget()
        paths: list[Path] = []
        names: dict[str, str] = {}
        for number, path in enumerate(arguments):
            if not URL.match(path):
                paths.append(Path(path))
                continue
            subfolder = folder / str(number)
            paths.append(_fetch(library, path, subfolder, budget))
            names[str(subfolder)] = f"{path.partition('://')[0]}:/"
        yield GivenPaths(paths, names)


@contextmanager
def private_folder(name: str) -> Iterator[Path]:
    """A folder for the files of one call, removed at the end, like the folders of killed calls."""
    target = Path(tempfile.gettempdir(), name)
    # No other call would remove the folder of a killed call
    remove_disposable(target)
    with staging(target, draft=True) as folder:
        yield folder


class _Budget:
    """The limits that remain for all threads; `over` is set when the rest is not needed."""

    def __init__(self) -> None:
        self.bytes, self.files = MOST_BYTES, MOST_FILES
        self.lock, self.over = Lock(), Event()

    def take(self, count: int) -> None:
        """Count bytes that were read; raises UsageFault beyond the limit."""
        with self.lock:
            self.bytes -= count
            if self.bytes < 0:
                raise UsageFault(f"too large to fetch: more than {MOST_BYTES >> 30} GiB")

    def take_files(self, count: int) -> None:
        """Count files that were listed; raises UsageFault beyond the limit."""
        self.files -= count
        if self.files < 0:
            raise UsageFault(f"too many files to fetch: more than {MOST_FILES}")


def _fetch(library: Any, url: str, folder: Path, budget: _Budget) -> Path:
    """The local path of a URL's tree or file; every error of a library becomes a UsageFault."""
    shown_url = _shown(url)
    if "::" in url:
        raise UsageFault(f"{shown_url}: nested URLs are not supported; use a single URL")
    try:
        system, root = library.core.url_to_fs(url)
        if LOCAL & {*_texts(system.protocol)}:
            return Path(root)
        return _fetch_from(system, root, url, folder, budget)
    except ComplianceError as error:
        raise type(error)(f"{shown_url}: {error}") from None
    except FileNotFoundError:
        raise NothingToJudge(f"no such file or folder: {shown_url}") from None
    except PermissionError:
        raise UsageFault(f"{shown_url} cannot be read: permission denied") from None
    # Each protocol has a library with its own exceptions
    except Exception as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UsageFault(
            f"{shown_url} cannot be read: {_shown(line.replace(url, shown_url))}"
        ) from None


def _shown(url: str) -> str:
    """A URL without its secrets."""
    return _SIGNED.sub(r"\1", _SECRET.sub("", url))


def _texts(protocol: Any) -> tuple[str, ...]:
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _fetch_from(system: Any, root: str, url: str, folder: Path, budget: _Budget) -> Path:
    remote_path = _shown(url).partition("://")[2].strip("/")
    # Including the folders of the URL: a round may be chosen by their names
    if not remote_path:
        raise UsageFault("the URL has no path; expected a bucket, a folder or a file")
    target = folder / _inside(remote_path)
    listing: Mapping[str, Any] = {}
    if url.endswith("/") or system.info(root)["type"] != "file":
        listing = system.find(root, withdirs=True, detail=True)
        if not listing:
            raise FileNotFoundError(url)
    subfolders, files = _sorted(listing, root) if listing else ([], {root: ""})
    budget.take_files(len(files) + len(subfolders))
    for subfolder in subfolders:
        (target / subfolder).mkdir(parents=True, exist_ok=True)
    _copy_all(system, {name: target / path for name, path in files.items()}, budget)
    return target


def _sorted(listing: Mapping[str, Any], root: str) -> tuple[list[str], dict[str, str]]:
    """The folders of a listing, and its files by name; paths are relative to its root."""
    folders: list[str] = []
    files: dict[str, str] = {}
    top = root.rstrip("/") + "/"
    for name, info in listing.items():
        if name.rstrip("/") + "/" == top:
            continue
        if not name.startswith(top):
            raise UsageFault(f"{name} is outside the tree; not fetched")
        path = _inside(name.removeprefix(top).rstrip("/"))
        if info.get("islink") or info["type"] not in ("file", "directory"):
            raise UsageFault(f"{path} is a link or a special file; not fetched")
        # An object store has no folders, but may have an object in place of a folder
        if info["type"] == "directory" or name.endswith("/"):
            folders.append(path)
        else:
            files[name] = path
    return folders, files


def _inside(path: str) -> str:
    """A path below the folder; raises UsageFault for any other path."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part or os.sep in part for part in parts):
        raise UsageFault(f"{path!r} is not a valid file name")
    return path


def _copy_all(system: Any, targets: Mapping[str, Path], budget: _Budget) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        try:
            for target in {target.parent for target in targets.values()}:
                target.mkdir(parents=True, exist_ok=True)
            copies = [
                threads.submit(_copy, system, name, target, budget)
                for name, target in targets.items()
            ]
            for copy in copies:
                copy.result()
        except FileExistsError as error:
            raise UsageFault(f"{Path(error.filename).name} is a file and a folder") from None
        finally:
            # After an error or an interrupt the rest is not needed
            budget.over.set()
            threads.shutdown(cancel_futures=True)
            budget.over.clear()


def _copy(system: Any, name: str, target: Path, budget: _Budget) -> None:
    # Never overwrite a file: a tree cannot have two files with the same path
    with system.open(name, "rb") as source, target.open("xb") as copied:
        while not budget.over.is_set() and (piece := source.read(PIECE)):
            budget.take(len(piece))
            copied.write(piece)
