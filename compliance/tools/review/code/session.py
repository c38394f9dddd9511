"""A review of the code of a round: the unread lines, submitter by submitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.repository.file_names import plain
from podium.compliance.tools.review.code.diffs import Room
from podium.compliance.tools.review.code.folder_review import Known, removed, review_folder
from podium.compliance.tools.review.code.inventory import reference_tree
from podium.compliance.tools.review.code.model import CodeReview
from podium.compliance.tools.review.code.pool import Pool
from podium.compliance.tools.review.code.read_marks import ReadMark
from podium.compliance.tools.review.code.reading_order import CodeFolder
from podium.compliance.tools.review.code.round_code import RoundCode
from podium.compliance.tools.review.code.vendored import split

BASES = ("auto", "reference", "earlier")
SHARED = "shared"
"""The name in place of a benchmark for files above the folders of the benchmarks."""


class CodeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a review of code.

    `only` is SUBMITTER or SUBMITTER/BENCHMARK: other code is known but not shown. `shown` are the
    hunks of the earlier review.
    """

    base: str = "auto"
    only: str = ""
    reference: Path | None = None
    marks: Mapping[str, ReadMark] = {}
    shown: frozenset[str] = frozenset()


def review_code(
    code: RoundCode, request: CodeRequest, *, earlier: Sequence[RoundCode] = ()
) -> CodeReview:
    """Review the code of a round; raises UsageFault if the request names an unknown submitter."""
    rounds = sorted(earlier, key=_round)
    _refuse_unknown(request, code, rounds)
    pool = _known(request, code, rounds)
    known = Known(pool, request.marks, request.shown, request.base == "auto", Room())
    before = [tree for round_code in rounds for tree in round_code.trees]
    cells = []
    for folder in code.folders:
        # A submission is not its own base
        is_requested = _is_asked(folder, request.only) and folder.tree.submitter != request.base
        cell = review_folder(
            folder, code.logs.get(folder.tree.root, ()), known, compare=is_requested
        )
        if is_requested:
            cells.append(replace(cell, removed=removed(folder, before)))
    return CodeReview(
        base=request.base,
        earlier=[round_code.trees[0].title for round_code in rounds if round_code.trees],
        reference=_name(request.reference),
        shown=sorted(request.shown),
        cells=sorted(cells, key=lambda cell: (-cell.to_read, cell.submitter, cell.benchmark)),
    )


def _name(reference: Path | None) -> str:
    """The name of the checkout's folder; its path is that of the reviewer's machine."""
    return "" if reference is None else plain(reference.resolve().name)


def _round(code: RoundCode) -> tuple[int, ...]:
    title = code.trees[0].title if code.trees else ""
    return tuple(int(part) for part in title.split(".") if part.isdecimal())


def _is_asked(folder: CodeFolder, only: str) -> bool:
    submitter, _, benchmark = only.partition("/")
    name = folder.benchmark or SHARED
    return submitter in ("", folder.tree.submitter) and benchmark in ("", name)


def _refuse_unknown(request: CodeRequest, code: RoundCode, earlier: Sequence[RoundCode]) -> None:
    names = sorted({tree.submitter for tree in code.trees})
    submitter = request.only.partition("/")[0]
    if submitter and submitter not in names:
        raise UsageFault(f"{submitter} is not a submitter here; expected {', '.join(names)}")
    if request.only and not any(_is_asked(folder, request.only) for folder in code.folders):
        folders = [folder for folder in code.folders if folder.tree.submitter == submitter]
        folder_names = ", ".join(sorted(folder.benchmark or SHARED for folder in folders)) or "none"
        raise UsageFault(f"{request.only} has no code; folders of {submitter}: {folder_names}")
    if request.base == "reference" and request.reference is None:
        raise UsageFault("--base reference needs --reference DIR, a checkout of the reference")
    if request.reference is not None and not request.reference.is_dir():
        raise UsageFault(f"--reference {request.reference} is not a folder")
    if request.base == "earlier" and not earlier:
        raise UsageFault("--base earlier needs --earlier ROUND")
    others = {tree.submitter for round_code in earlier for tree in round_code.trees}
    if request.base not in {*BASES, *names, *others}:
        raise UsageFault(
            f"--base {request.base} is not known; expected auto, reference, earlier or a submitter"
        )


def _known(request: CodeRequest, code: RoundCode, earlier: Sequence[RoundCode]) -> Pool:
    """The files that are known before the round is read."""
    pool = Pool()
    if request.reference is not None and request.base in ("auto", "reference"):
        tree = reference_tree(request.reference)
        for file in tree.files:
            pool.add(tree, file)
    folders = [folder for round_code in earlier for folder in round_code.folders]
    if request.base not in BASES:
        all_folders = [*folders, *code.folders]
        folders = [folder for folder in all_folders if folder.tree.submitter == request.base]
    for folder in folders if request.base != "reference" else ():
        own_files, libraries = split(folder.files)
        for library in libraries:
            pool.add_library(folder.tree, library)
        for file in own_files:
            pool.add(folder.tree, file)
    return pool


def shown_hunks(review: CodeReview) -> frozenset[str]:
    """The hunks that a review and those before it have shown, by id."""
    hunk_ids = (hunk.id for cell in review.cells for diff in cell.diffs for hunk in diff.hunks)
    return frozenset((*review.shown, *hunk_ids))
