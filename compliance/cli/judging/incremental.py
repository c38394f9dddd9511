"""Options of `podium check` that skip what an earlier check has judged, and their effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from podium.compliance.cli.delivery import refuse_inside, warn
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.judging.discovery import Inputs
    from podium.compliance.judging.inputs.changes import Changes
    from podium.compliance.judging.inputs.given_paths import GivenPaths
    from podium.compliance.judging.options import Options
    from podium.compliance.judging.recall import Recall

CacheOption = Annotated[
    bool,
    typer.Option(
        "--cache", help="Cache verdicts in your cache folder; check only what has changed."
    ),
]
CacheFolderOption = Annotated[
    Path | None,
    typer.Option(
        "--cache-dir", help="Cache folder (implies --cache); also $PODIUM_CACHE_DIR.", metavar="DIR"
    ),
]
ClearOption = Annotated[
    bool, typer.Option("--clear-cache", help="First remove everything from the cache.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        help="Check only results and submissions with files that changed since a git ref.",
        metavar="REF",
    ),
]


class IncrementalOptions(NamedTuple):
    """The options that reuse an earlier check."""

    cache: bool
    folder: Path | None
    clear: bool
    since: str | None


def begin(
    given_paths: GivenPaths, options: Options, incremental: IncrementalOptions, *, for_scores: bool
) -> tuple[Inputs, Recall | None]:
    """The inputs to judge below the paths, and the memory of an earlier check if it is requested.

    Raises UsageFault and NothingToJudge.
    """
    from podium.compliance.judging.discovery import discover

    paths = given_paths.paths
    if given_paths.names and any(incremental):
        # A tree made for one call does not exist in the next call
        raise UsageFault(
            "--cache and --since need files on this disk, not a URL or results that podium.toml "
            "names; run podium pack first"
        )
    changes = None if incremental.since is None else _changes(incremental.since, paths)
    memory = None
    if incremental.cache or incremental.folder or incremental.clear:
        memory = _recall(incremental, paths, options, for_scores=for_scores)
    return discover(paths, options, with_facts=for_scores, changes=changes), memory


def _changes(ref: str, paths: Sequence[Path]) -> Changes:
    from podium.compliance.judging.inputs.changes import Changes
    from podium.compliance.judging.inputs.discover import kinds_of
    from podium.compliance.judging.inputs.standard_input import GIVEN
    from podium.compliance.tools.packing.git.clone import Clone
    from podium.compliance.tools.packing.git.compare import differing

    if GIVEN in paths:
        raise UsageFault("--since needs files, not standard input")
    # Reports a path that does not exist
    kinds_of([*paths])
    clones: dict[Path, Clone] = {}
    for path in paths:
        try:
            clone = Clone(path if path.is_dir() else path.parent, read_only=True)
        except UsageFault as fault:
            raise UsageFault(f"--since needs a git repository: {fault}") from None
        clones.setdefault(clone.root, clone)
    changed_paths = (
        f"{root}/{path}"
        for root, clone in clones.items()
        # Every file is hashed: the index of the clone may be out of date
        for path in differing(root, clone.objects.tree_of(clone.oid_of(ref)), clone.objects)
    )
    return Changes(ref, frozenset(changed_paths))


def _recall(
    incremental: IncrementalOptions, paths: Sequence[Path], options: Options, *, for_scores: bool
) -> Recall | None:
    """The memory of an earlier check; None if the cache is only cleared.

    Raises UsageFault for a cache folder inside a tree being read.
    """
    from podium.compliance.judging.cache.shelf import Shelf, usual_folder

    folder = incremental.folder or usual_folder()
    refuse_inside("--cache-dir", folder, paths)
    shelf = Shelf(folder)
    if incremental.clear:
        shelf.clear()
    if not incremental.cache and incremental.folder is None:
        return None
    from podium.compliance.judging.recall import Recall, name_of
    from podium.compliance.text.terminal import clean

    name = name_of(paths, options, for_scores=for_scores)
    return Recall(shelf, name, lambda line: warn(clean(line)), partial=bool(incremental.since))
