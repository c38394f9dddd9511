"""Unread files as a reviewer sees them: hunks against their bases, the most important first."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.repository.secrets import secret_lines
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.code.hunks import Pair, RawHunk, differences
from podium.compliance.tools.review.code.inventory import (
    CodeFile,
    CodeTree,
    benchmark_of,
    read_text,
)
from podium.compliance.tools.review.code.model import FileDiff, Hunk
from podium.compliance.tools.review.code.pool import Base, Pool
from podium.compliance.tools.review.code.subjects import rank, subjects

MOST_LINES = 1000
"""Maximum number of lines of a new file on a page; the file itself has the rest."""

LONGEST_LINE = 1000
MOST_CHARACTERS = 64 << 20
MOST_BYTES = 16 << 20
"""Maximum number of bytes of files and their bases that are compared at once."""

MASKED = "(line hidden: possible secret)"


class Unread(msgspec.Struct, frozen=True):
    """A file that has not been read, its base if it has one, and its library."""

    file: CodeFile
    base: Base | None
    library: str = ""


class Room:
    """The characters of lines that a review can still store; further files are only counted."""

    def __init__(self) -> None:
        self.left = MOST_CHARACTERS

    def fit(self, diff: FileDiff) -> FileDiff:
        """A file with its hunks as long as there is room for them."""
        size = sum(len(line) for hunk in diff.hunks for line in hunk.lines)
        if size > self.left:
            return replace(diff, hunks=[], remark="not shown: the review has too many lines")
        self.left -= size
        return diff


class _Side(msgspec.Struct, frozen=True):
    """The content of a file, and its lines with possible secrets."""

    data: bytes
    masked: frozenset[int]


def diffs(
    tree: CodeTree, unread: Sequence[Unread], pool: Pool, shown: frozenset[str], room: Room
) -> list[FileDiff]:
    """The files with their hunks, the most important first; raises UsageFault."""
    file_diffs = []
    for batch in _batches(unread):
        compared = [entry for entry in batch if entry.base is not None and entry.base.close]
        sides = [
            (_side(_base_path(pool, entry)), _side(tree.root / entry.file.path))
            for entry in compared
        ]
        hunks = differences([Pair(base.data, file.data) for base, file in sides])
        batch_diffs = [
            _compared(tree, entry, pool, raw, pair)
            for entry, raw, pair in zip(compared, hunks, sides, strict=True)
        ]
        batch_diffs += [
            _whole(tree, entry, pool)
            for entry in batch
            if entry.base is None or not entry.base.close
        ]
        file_diffs += [room.fit(_unseen(diff, shown)) for diff in batch_diffs]
    return sorted(file_diffs, key=_weight)


def _batches(unread: Sequence[Unread]) -> Iterator[list[Unread]]:
    """The files in batches that fit into memory together with their bases."""
    batch: list[Unread] = []
    size = 0
    for entry in unread:
        size += entry.file.size + (entry.base.entry.file.size if entry.base is not None else 0)
        batch.append(entry)
        if size >= MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _base_path(pool: Pool, unread: Unread) -> Path:
    assert unread.base is not None
    return pool.path(unread.base.entry)


def _side(path: Path) -> _Side:
    data = read_text(path) or b""
    # A review is passed around, and must not repeat a secret
    return _Side(data, secret_lines(data))


# --- a file next to its base ----------------------------------------------------------------------


def _compared(
    tree: CodeTree, unread: Unread, pool: Pool, raw: Sequence[RawHunk], sides: tuple[_Side, _Side]
) -> FileDiff:
    file, base = unread.file, unread.base
    assert base is not None
    path = tree.shown(file.path)
    masked = (sides[0].masked, sides[1].masked)
    hunks = sorted(
        (
            _hunk(path, hunk, masked=masked, repeats=repeats)
            for hunk, repeats in zip(raw, _repeats(raw), strict=True)
        ),
        key=lambda hunk: (rank(hunk.subjects), hunk.line),
    )
    origin = pool.trees[base.entry.tree]
    inner_path, base_inner_path = (
        benchmark_of(code_file.path)[1] for code_file in (file, base.entry.file)
    )
    # The reference has other folders
    same = inner_path == base_inner_path or (origin.reference and base.entry.file.name == file.name)
    return FileDiff(
        path=path,
        kind="changed" if same or unread.library else "moved",
        hash=file.hash,
        base=pool.title(base.entry.tree, tree),
        base_path=origin.shown(base.entry.file.path),
        library=unread.library,
        remark="" if hunks else "differs only in line ends",
        lines=file.lines,
        to_read=sum(hunk.to_read for hunk in hunks),
        hunks=hunks,
    )


def _repeats(hunks: Sequence[RawHunk]) -> list[int]:
    """The number of equal hunks before each hunk of a file."""
    counts: Counter[tuple[bytes, ...]] = Counter()
    repeats = []
    for hunk in hunks:
        key = tuple(hunk.lines)
        repeats.append(counts[key])
        counts[key] += 1
    return repeats


def _hunk(
    path: str, raw: RawHunk, *, masked: tuple[frozenset[int], frozenset[int]], repeats: int = 0
) -> Hunk:
    old, new = raw.base_line, raw.line
    lines = []
    for line in raw.lines:
        sign = line[:1]
        secret = (sign in (b" ", b"-") and old in masked[0]) or (
            sign in (b" ", b"+") and new in masked[1]
        )
        lines.append(sign.decode() + MASKED if secret else _text(line))
        old += sign in (b" ", b"-")
        new += sign in (b" ", b"+")
    return Hunk(
        id=_id(path, raw.lines, repeats),
        subjects=subjects(path, lines),
        base_line=raw.base_line,
        line=raw.line,
        lines=lines,
        to_read=sum(line[:1] in (b"+", b"-") for line in raw.lines),
    )


def _text(line: bytes) -> str:
    # Bytes of other encodings and invisible characters are escaped, so that changes of them show
    parts = line.removesuffix(b"\r").decode("utf-8", "backslashreplace").split("\t")
    text = "\t".join(map(clean, parts))
    surplus = len(text) - LONGEST_LINE
    return text if surplus <= 0 else f"{text[:LONGEST_LINE]}… ({surplus} more characters)"


def _id(path: str, lines: Sequence[bytes], repeats: int) -> str:
    digest = hashlib.blake2b(path.encode("utf-8", "replace"), digest_size=8)
    for line in lines:
        digest.update(b"\n" + line)
    if repeats:
        # The same change in another place of the file is not the one that was shown
        digest.update(b"\n#%d" % repeats)
    return digest.hexdigest()


# --- a file without a base ------------------------------------------------------------------------


def _whole(tree: CodeTree, unread: Unread, pool: Pool) -> FileDiff:
    file, base = unread.file, unread.base
    path = tree.shown(file.path)
    side = _side(tree.root / file.path)
    lines = side.data.removesuffix(b"\n").split(b"\n") if side.data else []
    raw = RawHunk(0, 1, [b"+" + line for line in lines])
    hunk = _hunk(path, raw, masked=(frozenset(), side.masked))
    remark = ""
    if base is not None:
        closest_path = pool.trees[base.entry.tree].shown(base.entry.file.path)
        remark = f"closest: {closest_path} ({base.kept:.0%} of the lines)"
    if len(hunk.lines) > MOST_LINES:
        surplus = len(hunk.lines) - MOST_LINES
        hunk = replace(
            hunk, lines=[*hunk.lines[:MOST_LINES], f" … {surplus} more lines in the file"]
        )
    return FileDiff(
        path=path,
        kind="new",
        hash=file.hash,
        base=pool.title(base.entry.tree, tree) if base is not None else "",
        base_path=pool.trees[base.entry.tree].shown(base.entry.file.path) if base else "",
        library=unread.library,
        remark=remark or ("" if lines else "empty"),
        lines=file.lines,
        to_read=hunk.to_read,
        hunks=[hunk] if lines else [],
    )


# --- order ----------------------------------------------------------------------------------------


def _unseen(diff: FileDiff, shown: frozenset[str]) -> FileDiff:
    unseen = [hunk for hunk in diff.hunks if hunk.id not in shown]
    if len(unseen) == len(diff.hunks):
        return diff
    return replace(
        diff,
        hunks=unseen,
        seen=len(diff.hunks) - len(unseen),
        to_read=sum(hunk.to_read for hunk in unseen),
    )


def _weight(diff: FileDiff) -> tuple[int, bool, str]:
    best = min((rank(hunk.subjects) for hunk in diff.hunks), default=99)
    return best, diff.kind == "new", diff.path
