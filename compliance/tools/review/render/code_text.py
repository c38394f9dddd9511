"""A code review for a terminal: the matrix, and the unread lines of one submitter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from podium.compliance.text.terminal import clean, clip, columns, wrap, wrap_path
from podium.compliance.text.words import plural
from podium.compliance.tools.review.code.model import NAMED, Cell, CodeReview, FileDiff, Hunk

TAB = " " * 4
MOST_NAMED = 8


def code_text(review: CodeReview, width: int, *, detail: bool) -> str:
    """The review for a terminal with `width` columns; with `detail`, every hunk is printed."""
    lines = [*_head(review, width), "", *_matrix(review, width)]
    if detail:
        for cell in review.cells:
            lines += ["", *_cell(cell, width)]
    return "\n".join(lines) + "\n"


def _head(review: CodeReview, width: int) -> Iterator[str]:
    total = sum(cell.lines for cell in review.cells)
    files = sum(cell.files for cell in review.cells)
    share = f" ({review.to_read / total:.2%})" if total else ""
    yield from wrap(
        f"Code: {review.to_read:,} of {total:,} lines in {files:,} files are unread{share}",
        width,
    )
    if review.unverified:
        yield from wrap(
            f"Vendored libraries: {review.unverified:,} lines have no copy to compare with", width
        )
    compared = [f"round {title}" for title in review.earlier]
    compared += [review.reference] if review.reference else []
    yield from wrap(
        clean(f"Base: {review.base}; compared with {', '.join(compared) or 'the round'}"), width
    )
    yield from wrap(review.confidential, width)
    if review.problem:
        yield from wrap(clean(review.problem), width)


HEADS = ("read", "ident.", "chang.", "new", "vend.")


def _matrix(review: CodeReview, width: int) -> Iterator[str]:
    names = [clean(cell.name) for cell in review.cells]
    widest = max(map(columns, names), default=0)
    numbers = 7 * len(HEADS) + 2
    room = max(19, min(widest, width - numbers - 14))
    yield (
        f"{'submitter/benchmark':{room}}"[:room]
        + "".join(f"{head:>7}" for head in HEADS)
        + "  base"
    )
    for name, cell in zip(names, review.cells, strict=True):
        clipped = clip(name, room)
        values = (cell.to_read, cell.identical + cell.read, cell.changed, cell.new, cell.vendored)
        row = clipped + " " * (room - columns(clipped)) + "".join(f"{value:7}" for value in values)
        yield clip(f"{row}  {clean(cell.base) or '-'}", width)


# --- one cell -------------------------------------------------------------------------------------


def _cell(cell: Cell, width: int) -> Iterator[str]:
    yield from wrap(clean(f"== {cell.name}: {plural(cell.to_read, 'line')} to read"), width)
    yield from wrap(clean(f"Reading order: {cell.order}"), width)
    if cell.sources:
        origins = ", ".join(f"{count} of {name}" for name, count in cell.sources.items())
        yield from wrap(clean(f"Identical files: {origins}"), width)
    for library in cell.libraries:
        patched = f", {len(library.patched)} patched" if library.patched else ""
        version = library.version or "(no version)"
        description = f"Vendored: {library.name} {version}, {library.files} files{patched}"
        description += f"; {library.remark}" if library.remark else ""
        yield from wrap(clean(description), width, "", "  ")
        for path in library.logging[:MOST_NAMED]:
            yield from wrap_path(clean(f"writes log records: {path}"), width, "  ", "    ")
    yield from _listed(cell, width)
    yield from _named("Removed since the earlier round", cell.removed, width)
    yield from _configurations(cell, width)
    for diff in cell.diffs:
        yield ""
        yield from _diff(diff, width)


def _listed(cell: Cell, width: int) -> Iterator[str]:
    counts = Counter((file.kind, file.state) for file in cell.others)
    if counts:
        kinds = (f"{count} {kind} ({state})" for (kind, state), count in sorted(counts.items()))
        yield from wrap(f"Not compared: {', '.join(kinds)}", width, "", "  ")
    opaque = [f"{file.path} ({file.kind})" for file in cell.others if file.kind in NAMED]
    yield from _named("Not readable", opaque, width)


def _named(title: str, paths: Sequence[str], width: int) -> Iterator[str]:
    if not paths:
        return
    yield f"{title}:"
    for path in paths[:MOST_NAMED]:
        yield from wrap_path(clean(path), width, "  ", "    ")
    if len(paths) > MOST_NAMED:
        yield f"  and {len(paths) - MOST_NAMED} more"


def _configurations(cell: Cell, width: int) -> Iterator[str]:
    used = [configuration for configuration in cell.configurations if configuration.used_by]
    if not cell.configurations:
        return
    count = f"{len(used)} of {len(cell.configurations)}"
    yield f"Configurations: {count} are named in a log or name a system"
    for configuration in used:
        yield from wrap_path(clean(configuration.path), width, "  ran ", "    ")
        for name, variable in configuration.values.items():
            logged = f" (logged: {variable.logged})" if variable.logged else ""
            yield from wrap(clean(f"{name}={variable.value}{logged}"), width, "    ", "      ")


def _diff(diff: FileDiff, width: int) -> Iterator[str]:
    head = f"--- {diff.kind}, {plural(diff.to_read, 'line')} to read: {diff.path}"
    yield from wrap_path(clean(head), width, "", "    ")
    if diff.base_path and diff.kind != "new":
        yield from wrap_path(clean(f"{diff.base}: {diff.base_path}"), width, "    from ", "    ")
    if diff.remark:
        yield from wrap(clean(diff.remark), width, "    ", "    ")
    if diff.seen:
        yield f"    {plural(diff.seen, 'hunk')} shown by the earlier review"
    for hunk in diff.hunks:
        yield from _hunk(hunk, width)


def _hunk(hunk: Hunk, width: int) -> Iterator[str]:
    yield clip(f"@@ -{hunk.base_line} +{hunk.line} @@ {', '.join(hunk.subjects)}", width)
    for line in hunk.lines:
        text = clean(line.replace("\t", TAB))
        # Long lines are not cut: the code far to the right counts as well
        room = max(width, 20)
        yield text[:room]
        yield from (
            f" {text[start : start + room - 1]}" for start in range(room, len(text), room - 1)
        )
