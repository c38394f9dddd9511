"""Where a result lies: who submits it, on which system, what benchmark; by its folder's path.

Known layouts, of any depth above: `<submitter>/results/<system>/<benchmark>/`, the same with
`strong` or `weak` before the benchmark, and that of 0.5 with the submitter right below `v0.5.x`.
What the path does not say is taken from the logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import PRUNED, SCALINGS, Scaling, submitter_of
from podium.compliance.judging.logs.facts import Facts
from podium.rules.model.round import Round


class ResultLocation(msgspec.Struct, frozen=True):
    """A result's folder and what its path says; `description` is where its system's must lie."""

    folder: Path
    display_path: str
    submitter: str = ""
    system: str = ""
    benchmark: str = ""
    scaling: Scaling = "strong"
    description: Path | None = None

    def display(self, path: Path) -> str:
        """How a report shows a path in the folder."""
        below = path.relative_to(self.folder).as_posix()
        return below if self.display_path == "." else f"{self.display_path}/{below}"


def is_pruned(folder: str) -> bool:
    """Whether a folder holds instances that a result leaves out."""
    return PRUNED in Path(folder).parts


def place_of(folder: Path, display_path: str) -> ResultLocation:
    """What the path of a result's folder says."""
    parts = folder.absolute().parts
    at = _results_at(parts)
    scaling: Scaling
    if at is None:
        scaling = "weak" if folder.absolute().parent.name == "weak" else "strong"
        return ResultLocation(folder, display_path, benchmark=parts[-1], scaling=scaling)
    system = parts[at + 1]
    scaling = "weak" if _depth(parts, at) == at + 4 and parts[at + 2] == "weak" else "strong"
    root = Path(*parts[:at])
    return ResultLocation(
        folder,
        display_path,
        submitter_of(root),
        system,
        # A folder below that of a result is a result of what its own name says, if of any
        parts[-1],
        scaling,
        root / "systems" / f"{system}.json",
    )


def result_around(folder: Path) -> Path | None:
    """The folder of the result that a folder lies in, by its path; None where it lies in none."""
    parts = folder.absolute().parts
    at = _results_at(parts)
    if at is None or len(parts) == (depth := _depth(parts, at)):
        return None
    return Path(*parts[:depth])


def _results_at(parts: tuple[str, ...]) -> int | None:
    """Where `results` stands in a path that has a system and a benchmark below it."""
    # From the right: a folder called results may hold the whole tree, too
    at = next((i for i in range(len(parts) - 2, 0, -1) if parts[i] == "results"), None)
    return None if at is None or len(parts) - at < 3 else at


def _depth(parts: tuple[str, ...], at: int) -> int:
    """How many parts the folder of a result has, of a path with `results` at a place."""
    scaled = len(parts) > at + 3 and parts[at + 2] in SCALINGS
    return at + 4 if scaled else at + 3


def filled(place: ResultLocation, facts: Iterable[Facts], rules: Round) -> ResultLocation:
    """The place with what only the logs say: of several values the most frequent."""
    known = list(facts)
    benchmark = place.benchmark
    # A folder of any other name says nothing, and the logs know
    if benchmark not in rules.benchmarks:
        benchmark = _usual(one.run.benchmark for one in known) or benchmark
    return replace(
        place,
        benchmark=benchmark,
        submitter=place.submitter or _usual(one.org for one in known),
        system=place.system or _usual(one.platform for one in known),
    )


def _usual(values: Iterable[str | None]) -> str:
    counted = Counter(value for value in values if value)
    return counted.most_common(1)[0][0] if counted else ""
