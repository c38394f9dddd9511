"""`podium system check`: one report on several system descriptions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import NothingToJudge
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest, rules_of, several
from podium.compliance.judging.systems.check import SystemVerdict, check_system
from podium.compliance.reporting.conclusion import Decision, conclude
from podium.compliance.reporting.data import FileEntry, Outcome, fails

if TYPE_CHECKING:
    from podium.compliance.judging.options import Options


def check_systems(paths: list[Path], options: Options) -> Outcome:
    """Check every description in the paths; a folder means the files in it, or in its `systems`.

    Raises ComplianceError for a path that does not exist or has no description.
    """
    single = len(paths) == 1
    descriptions = [
        (file, display_path) for path in paths for file, display_path in _files(path, single=single)
    ]
    request = RoundRequest(options.usage, options.round)
    choices = [request.choose(file.parent) for file, _ in descriptions]
    mixed = several(choices)
    files, findings = [], []
    for (file, display_path), choice in zip(descriptions, choices, strict=True):
        verdict = check_system(file, display_path, choice.rules, options.profile, by_schema=True)
        # Before the entry is made: findings that are not selected do not fail the file
        verdict.findings = [f for f in verdict.findings if options.wants(f.id)]
        files.append(_entry(verdict, display_path, choice, strict=options.strict, mixed=mixed))
        findings += verdict.findings
    return conclude(
        rules_of(choices, options.profile),
        files=files,
        findings=findings,
        decision=Decision(strict=options.strict),
    )


def _files(path: Path, *, single: bool) -> list[tuple[Path, str]]:
    """(file, displayed path) of the descriptions in a path."""
    if not path.exists():
        raise NothingToJudge(f"no such file or folder: {path}")
    if not path.is_dir():
        return [(path, path.name if single else str(path))]
    folder = path / "systems" if (path / "systems").is_dir() else path
    try:
        files = sorted(file for file in folder.iterdir() if file.name.endswith(".json"))
    except OSError as error:
        raise NothingToJudge(f"{folder} cannot be read: {error.strerror}") from None
    if not files:
        raise NothingToJudge(f"no system description (*.json) in {folder}")
    return [(file, str(file.relative_to(path)) if single else str(file)) for file in files]


def _entry(
    verdict: SystemVerdict, display_path: str, choice: Choice, *, strict: bool, mixed: bool
) -> FileEntry:
    return FileEntry(
        path=display_path,
        kind="system",
        verdict="fail" if fails(verdict.findings, strict=strict) else "pass",
        division=verdict.description.division if verdict.description else None,
        round=choice.rules.title if mixed else None,
    )
