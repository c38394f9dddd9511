"""The recognition of submission folders, of their depth, and of folders that are almost one."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.round_selection import RoundRequest, names_round

DEEPEST = 6
"""Depth below a PATH to which submissions are searched; in 0.5 they are up to three deeper."""

_LOGS = ("*/*/result*.txt*", "*/*/*/result*.txt*")
"""The logs in a folder of results, by system and benchmark, and in HPC also by metric."""

TOP_FOLDERS = frozenset({"systems", "benchmarks", "results", "code", "documentation"})
"""Folders of a submission: submission rules, Directory structure."""

PARTS = {"results": ("result", "results"), "systems": ("system", "systems")}
"""The two folders of a submission, and names that probably mean them."""


def is_submission(folder: Path, request: RoundRequest | None = None) -> bool:
    """Whether a folder has the `results` and `systems` of a submitter.

    Rounds 0.5 and 0.6, if `request` selects them, have no `systems`: descriptions are with results.
    """
    if not _has(folder, "results"):
        return False
    if _has(folder, "systems"):
        return True
    return request is not None and request.choose(folder).rules.package.described_by_entry


def submissions_below(folders: list[Path], request: RoundRequest) -> Iterator[Path]:
    """The submissions among these folders and below them.

    Raises NothingToJudge for a folder that is almost a submission.
    """
    for top in folders:
        for folder, subfolders, _ in os.walk(top):
            path = Path(folder)
            # os.walk lists in the order of the file system, which differs between machines
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            if is_submission(path, request):
                yield path
                subfolders.clear()
                continue
            refuse_misnamed(path)
            if len(path.parts) - len(top.parts) >= DEEPEST:
                subfolders.clear()


def too_deep(path: Path, submission: Path, request: RoundRequest) -> bool:
    """Whether a submission is deeper below a path than the submissions of a round are.

    A submission in a folder with the same name is too deep as well. The layout of 0.5 has folders
    in between, and a folder of several rounds contains the folders of the rounds.
    """
    parent = submission.absolute().parent
    if request.choose(submission).rules.package.nested_submissions:
        return False
    if parent.name == submission.name:
        return True
    if names_round(parent.name):
        return False
    return submission.parent != path or names_round(parent.parent.name)


def refuse_misnamed(folder: Path) -> None:
    """Raise NothingToJudge if a folder has parts of a submission with other names.

    Its logs would be checked one by one, while the official verifier crashes.
    """
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return
    part_names = {part: part if part in names else _meant(part, names) for part in PARTS}
    # With a podium.toml, other folders may be the source of the results
    if not (folder / "podium.toml").exists():
        part_names |= _by_content(folder, names, part_names)
    results, systems = part_names["results"], part_names["systems"]
    if not results or (results, systems) == ("results", "systems"):
        return
    # A name alone proves nothing: the folder must contain logs like a submission
    if not (systems or results.lower() in PARTS["results"]) or not _holds_logs(folder / results):
        return
    for part, name in part_names.items():
        if name and name != part:
            raise NothingToJudge(
                f"{folder / name} must be named {part}: a submission has the folders results and "
                "systems, and folders with other names are not checked; rename it"
            )


def _by_content(folder: Path, names: list[str], part_names: dict[str, str]) -> dict[str, str]:
    """The one part that is missing by name, if another folder has its content.

    A system's folder of results has the name of the system's description.
    """
    results, systems = part_names["results"], part_names["systems"]
    known = (TOP_FOLDERS - PARTS.keys()) | {results, systems}
    others = [name for name in names if name not in known]
    if systems and not results:
        described = [path.stem for path in (folder / systems).glob("*.json")]
        for name in others:
            matches = any((folder / name / system).is_dir() for system in described)
            if matches and _holds_logs(folder / name):
                return {"results": name}
    elif results and not systems:
        for path in (folder / results).glob("*/"):
            for name in others:
                if (folder / name / f"{path.name}.json").is_file():
                    return {"systems": name}
    return {}


def is_meant_as(part: str, name: str) -> bool:
    """Whether a folder's name is that of a part of a submission, or almost."""
    return bool(_meant(part, [name]))


def _has(folder: Path, name: str) -> bool:
    """Whether a folder contains a folder with exactly this name: some file systems ignore case."""
    return (folder / name).is_dir() and name in os.listdir(folder)


def _meant(part: str, names: list[str]) -> str:
    """The name that probably means a part; "" if there is none."""
    by_letters = {name.casefold(): name for name in reversed(names)}
    synonyms = [by_letters[letters] for letters in PARTS[part] if letters in by_letters]
    similar = difflib.get_close_matches(part, by_letters, 1, 0.8)
    return next(iter([*synonyms, *(by_letters[letters] for letters in similar)]), "")


def _holds_logs(folder: Path) -> bool:
    return any(True for pattern in _LOGS for _ in folder.glob(pattern))
