"""Vendored libraries of a submission: the folder, name and version of each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from podium.compliance.judging.inputs.source_files import read_plain
from podium.compliance.tools.review.code.inventory import CodeFile, benchmark_of

LEAST_FILES = 20
"""A smaller folder is always read as code: a license alone must not hide a program."""

MANY_FILES = 200
"""A folder with at least this many files that are not configurations needs no other mark."""

_BUILDS = ("setup.py", "pyproject.toml", "setup.cfg", "package.json", "CMakeLists.txt")
_LICENSES = ("LICENSE", "LICENCE", "COPYING")
_HOLDERS = frozenset(("third_party", "3rdparty", "third-party", "vendor", "site-packages"))
_CONFIGS = (".sh", ".env", ".conf", ".yaml", ".yml", ".json", ".toml", ".sub")

_VERSION = re.compile(
    r"""(?:^|[(,])\s*["']?(?:__)?version(?:__)?["']?\s*[:=]\s*["']([\w.+!-]{1,40})["']""",
    re.MULTILINE | re.IGNORECASE,
)
_VERSION_FILES = (
    *("pyproject.toml", "setup.py", "setup.cfg", "version.py", "_version.py", "__version__.py"),
    *("package_info.py", "package.json", "VERSION", "version.txt", "__init__.py"),
)
_VERSION_BYTES = 1 << 16
_MOST_READ = 12


class VendoredFolder(msgspec.Struct, frozen=True):
    """A vendored library in the code of one submission; `path` is its folder."""

    path: str
    files: list[CodeFile]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.rpartition("/")[2]

    def inside(self, file: CodeFile) -> str:
        """The path of a file below the library's folder."""
        return file.path[len(self.path) + 1 :]


def split(files: Sequence[CodeFile]) -> tuple[list[CodeFile], list[VendoredFolder]]:
    """The files of a benchmark's code that are the submitter's own, and the vendored libraries."""
    below: dict[str, list[CodeFile]] = defaultdict(list)
    for file in files:
        for folder in _folders(file.path):
            below[folder].append(file)
    roots: list[str] = []
    # Outermost first: everything in a library belongs to it
    for folder in sorted(below, key=lambda path: (path.count("/"), path)):
        inner = any(folder.startswith(f"{root}/") for root in roots)
        if not inner and _is_library(folder, below[folder]):
            roots.append(folder)
    libraries = [VendoredFolder(root, below[root]) for root in roots]
    library_paths = {file.path for library in libraries for file in library.files}
    return [file for file in files if file.path not in library_paths], libraries


def _folders(path: str) -> Iterator[str]:
    """The folders above a file that could be a library: those below the benchmark's folder."""
    parts = path.split("/")
    first = 3 if "implementations" not in parts[:3] else 4
    for depth in range(first, len(parts)):
        yield "/".join(parts[:depth])


def _is_library(folder: str, files: Sequence[CodeFile]) -> bool:
    if len(files) < LEAST_FILES:
        return False
    above, _, _ = folder.rpartition("/")
    if above.rpartition("/")[2] in _HOLDERS:
        return True
    at_top = {file.name for file in files if file.path.count("/") == folder.count("/") + 1}
    builds = any(name in at_top for name in _BUILDS)
    licensed = any(name.upper().startswith(_LICENSES) for name in at_top)
    programs = sum(not file.name.endswith(_CONFIGS) for file in files)
    has_many_files = programs >= MANY_FILES
    # The folder of an implementation often has a license: it must be large to be a library
    if _is_implementation(folder):
        return has_many_files and (builds or licensed)
    return has_many_files or builds or licensed


def _is_implementation(folder: str) -> bool:
    folders = benchmark_of(f"{folder}/x")[1].split("/")[:-1]
    return len(folders) <= (2 if folders[0] == "implementations" else 1)


def version_of(root: Path, library: VendoredFolder) -> str:
    """The version that a library states; empty if it states none."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for file in library.files:
        by_name[file.name].append(file.path)
    read = 0
    for name in _VERSION_FILES:
        for path in sorted(by_name[name], key=lambda item: item.count("/"))[:3]:
            read += 1
            version = _stated(root / path, plain=name in ("VERSION", "version.txt"))
            if version or read > _MOST_READ:
                return version
    return ""


def _stated(path: Path, *, plain: bool) -> str:
    try:
        text = read_plain(path, _VERSION_BYTES).decode(errors="replace")
    except OSError:
        return ""
    match = re.match(r"\s*([\w.+!-]{1,40})\s*$", text) if plain else _VERSION.search(text)
    return match[1] if match else ""


def usual(names: Iterable[str]) -> str:
    """The most frequent of some names; empty for none."""
    counts = Counter(names)
    return max(sorted(counts), key=lambda name: counts[name], default="")
