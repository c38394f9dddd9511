"""Which folders are submissions, how deep they lie, and which only nearly are some."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.round_selection import RoundRequest, names_round

DEEPEST = 6
"""So many folders below a PATH submissions are looked for; in 0.5 they lie up to three lower."""

_LOGS = ("*/*/result*.txt*", "*/*/*/result*.txt*")
"""What a folder of results contains: logs by system and benchmark, in HPC by metric as well."""

PARTS = {"results": ("result", "results"), "systems": ("system", "systems")}
"""The folders that make a submission, and how their names may be meant."""


def is_submission(folder: Path, request: RoundRequest | None = None) -> bool:
    """Whether a folder has the `results` and `systems` of a submitter.

    Rounds 0.5 and 0.6, as `request` selects them, have no `systems`: descriptions lay with results.
    """
    if not _has(folder, "results"):
        return False
    if _has(folder, "systems"):
        return True
    from podium.compliance.judging.inputs.benchmark_names import is_early

    return request is not None and is_early(request.choose(folder).rules)


def submissions_below(folders: list[Path], request: RoundRequest) -> Iterator[Path]:
    """The submissions in these folders: each of them, or deeper in it.

    Raises NothingToJudge for a folder that only nearly is one.
    """
    for sub in folders:
        for folder, subfolders, _ in os.walk(sub):
            here = Path(folder)
            # os.walk lists as the file system does: the order would differ between machines
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            if is_submission(here, request):
                yield here
                subfolders.clear()
                continue
            refuse_misnamed(here)
            if len(here.parts) - len(sub.parts) >= DEEPEST:
                subfolders.clear()


def too_deep(path: Path, found: Path, request: RoundRequest) -> bool:
    """Whether a submission is deeper below a path than those of a round are.

    One in a folder of the same name is, too. The layout of 0.5 has folders between, and a folder
    of several rounds has those of the rounds.
    """
    above = found.absolute().parent
    if request.choose(found).rules.package.nested_submissions:
        return False
    if above.name == found.name:
        return True
    if names_round(above.name):
        return False
    return found.parent != path or names_round(above.parent.name)


def refuse_misnamed(folder: Path) -> None:
    """Raise NothingToJudge where a folder has parts of a submission under other names.

    Its logs would be judged one by one, while the official verifier ends without a verdict.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return
    found = {part: part if part in names else _meant(part, names) for part in PARTS}
    results, systems = found["results"], found["systems"]
    if not results or (results, systems) == ("results", "systems"):
        return
    # A name alone proves nothing: it must hold logs as a submission does
    if not (systems or results.lower() in PARTS["results"]) or not _holds_logs(folder / results):
        return
    for part, name in found.items():
        if name and name != part:
            raise NothingToJudge(
                f"{folder / name} must be named {part}: a submission has results and systems, and "
                "nothing in it is judged under other names; rename it"
            )


def is_meant_as(part: str, name: str) -> bool:
    """Whether a folder's name is that of a part of a submission, or nearly."""
    return bool(_meant(part, [name]))


def _has(folder: Path, name: str) -> bool:
    """Whether a folder has a folder of this very name: some file systems ignore case."""
    return (folder / name).is_dir() and name in os.listdir(folder)


def _meant(part: str, names: list[str]) -> str:
    """The name that is meant as a part; "" for none."""
    by_letters = {name.casefold(): name for name in reversed(names)}
    plain = [by_letters[each] for each in PARTS[part] if each in by_letters]
    near = difflib.get_close_matches(part, by_letters, 1, 0.8)
    return next(iter([*plain, *(by_letters[each] for each in near)]), "")


def _holds_logs(folder: Path) -> bool:
    return any(True for pattern in _LOGS for _ in folder.glob(pattern))
