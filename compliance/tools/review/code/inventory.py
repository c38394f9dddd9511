"""The code of a submission: every file with its hash, kind and number of lines.

No link is followed, no pipe or device is opened, and no content is kept.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from podium.compliance.judging.inputs.source_files import CODE_FOLDERS, open_plain
from podium.compliance.judging.repository.file_names import plain
from podium.compliance.tools.review.code.model import ListedKind

MOST_FILES = 1_000_000
"""Maximum number of files of one tree that are read; a larger tree is not code."""

LARGEST_TEXT = 1 << 20
"""Maximum size of a text file that is compared line by line, in bytes."""

LARGEST_STRUCTURED = 1 << 16
"""Bytes above which JSON, YAML or plain text is data."""

_BLOCK = 1 << 20
_HEAD = 8192
"""Bytes in which a null byte means that a file is binary, as git decides it."""

HASH_BYTES = 12
"""The same as in `files.json` of a review."""

_KINDS: dict[str, ListedKind] = {
    **dict.fromkeys(
        ("pyc", "pyo", "so", "o", "a", "dll", "dylib", "exe", "class"), "compiled code"
    ),
    **dict.fromkeys(("zip", "tar", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar"), "archive"),
    **dict.fromkeys(("whl", "egg", "jar"), "archive"),
    **dict.fromkeys(("pt", "pth", "ckpt", "safetensors", "h5", "hdf5", "onnx", "pb"), "checkpoint"),
    **dict.fromkeys(("pkl", "pickle"), "checkpoint"),
    "ipynb": "notebook",
    **dict.fromkeys(("csv", "tsv", "jsonl", "parquet", "npy", "npz", "arrow"), "data"),
    **dict.fromkeys(("tfrecord", "vocab", "svg", "log", "out"), "data"),
}
"""Kinds of files by the suffix of their names."""

_SOURCES = frozenset(
    ("py", "sh", "bash", "c", "cc", "cpp", "cu", "cuh", "h", "hpp", "rs", "go", "js", "pl", "sub")
)
"""Programs: a shell runs one even if it contains a null byte."""

_STRUCTURED = frozenset(("json", "yaml", "yml", "txt", "xml", "lock"))


class CodeFile(msgspec.Struct, frozen=True, gc=False):
    """One file; `path` is below the tree's root, `kind` is None for text that is compared."""

    path: str
    hash: str
    size: int
    lines: int
    kind: ListedKind | None = None

    @property
    def name(self) -> str:
        """The file name without folders."""
        return self.path.rpartition("/")[2]


class CodeTree(msgspec.Struct, frozen=True):
    """The code of one submission, or a checkout of the reference.

    `title` names its round for a reader, such as `5.0`.
    """

    submitter: str
    root: Path
    path: str
    title: str
    files: list[CodeFile]
    reference: bool = False

    def shown(self, path: str) -> str:
        """A path of the tree as a report shows it."""
        return plain(path if self.path in ("", ".") else f"{self.path}/{path}")


def code_tree(submitter: str, root: Path, path: str, title: str = "") -> CodeTree:
    """The code of a submission."""
    files = [file for name in CODE_FOLDERS for file in _files(root, name)]
    return CodeTree(submitter, root, path, title, files)


def reference_tree(root: Path) -> CodeTree:
    """All files of a checkout of the reference implementation."""
    return CodeTree("reference", root, "reference", "", [*_files(root, "")], reference=True)


def benchmark_of(path: str) -> tuple[str, str]:
    """The benchmark of a path in a submission, and the rest of the path; empty for shared files."""
    parts = path.split("/", 2)
    return (parts[1], parts[2]) if len(parts) == 3 else ("", parts[-1])


def read_text(path: Path) -> bytes | None:
    """The content of a text file; None if it is not compared or cannot be read."""
    try:
        with open_plain(path) as stream:
            data = stream.read(LARGEST_TEXT + 1)
    except OSError:
        return None
    return None if len(data) > LARGEST_TEXT else data


def _files(root: Path, top: str) -> Iterator[CodeFile]:
    count = 0
    if top and os.path.islink(root / top):
        # A walk follows the link at its top, which may lead out of the tree
        link = _file(root / top, top)
        yield from [link] if link is not None else []
        return
    for folder, folders, names in os.walk(root / top):
        folders[:] = sorted(name for name in folders if name != ".git")
        below = os.path.relpath(folder, root)
        prefix = "" if below == "." else f"{below}/"
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*names, *linked]):
            count += 1
            if count > MOST_FILES:
                return
            file = _file(Path(folder, name), f"{prefix}{name}")
            if file is not None:
                yield file


def _file(path: Path, display_path: str) -> CodeFile | None:
    if path.is_symlink():
        target = os.fsencode(os.readlink(path))
        return CodeFile(display_path, _digest(target), len(target), 0, "link")
    hashed, size, lines, head, last = hashlib.blake2b(digest_size=HASH_BYTES), 0, 0, b"", b"\n"
    try:
        with open_plain(path) as stream:
            while block := stream.read(_BLOCK):
                head = head or block[:_HEAD]
                hashed.update(block)
                size += len(block)
                lines += block.count(b"\n")
                last = block[-1:]
    except OSError:
        # The check reports unreadable files
        return None
    kind = _kind(display_path, size, binary=b"\0" in head)
    count = lines + (last != b"\n") if kind is None or b"\0" not in head else 0
    return CodeFile(display_path, hashed.hexdigest(), size, count, kind)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=HASH_BYTES).hexdigest()


def _kind(path: str, size: int, *, binary: bool) -> ListedKind | None:
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2] if "." in name else ""
    kind = _KINDS.get(ending)
    # A shared library has its version after its suffix
    if kind is None and re.search(r"\.so\.[\d.]+$", name):
        kind = "compiled code"
    if kind is not None:
        return kind
    if binary and ending not in _SOURCES:
        return "binary"
    if ending in _STRUCTURED and size > LARGEST_STRUCTURED:
        return "data"
    return "large" if size > LARGEST_TEXT else None
