"""Reference convergence points that a new round reuses from an earlier round."""

from __future__ import annotations

from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_file
from podium.rules.convergence import data
from podium.rules.convergence.data import rounds_with_points
from podium.rules.model.round import Round


def carry_points(old: Round, new: Round, folder: Path | None = None) -> list[Path]:
    """Let `new` use the points of `old`, for each common benchmark without points in `new`.

    Returns the written files, which are in the package unless `folder` is given. Raises UsageFault
    for rounds of two usages.
    """
    if old.usage != new.usage:
        raise UsageFault(f"{old.title} and {new.title} have different usages")
    base = folder or Path(data.__file__).resolve().parent / "data"
    written = []
    for name in new.benchmarks:
        path = base / new.usage / f"{name}.json"
        rounds = rounds_with_points(old.usage, name)
        if old.name in rounds and new.name not in rounds:
            with draft_file(path) as stream:
                stream.write(_with_round(path.read_text(encoding="utf-8"), old, new).encode())
            written.append(path)
    return written


def _with_round(text: str, old: Round, new: Round) -> str:
    """The text of a points file, with the new round added."""
    prefix, key, tail = text.partition(f'\n"{old.name}":')
    points, end, suffix = tail.partition("]")
    return f'{prefix}{key}{points}{end},\n"{new.name}":{points}{end}{suffix}'
