"""The location of a result: its submitter, system and benchmark, from the path of its folder.

Known layouts, at any depth: `<submitter>/results/<system>/<benchmark>/`, the same with `strong` or
`weak` before the benchmark, and the layout of 0.5 with the submitter directly below `v0.5.x`.
Missing values are read from the logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.layout import PRUNED, SCALINGS, Scaling, submitter_of
from podium.compliance.judging.logs.facts import Facts
from podium.rules.model.round import Round


class ResultLocation(msgspec.Struct, frozen=True):
    """A result's folder and the parts of its path; `description` is the path of its system's."""

    folder: Path
    display_path: str
    submitter: str = ""
    system: str = ""
    benchmark: str = ""
    scaling: Scaling = "strong"
    description: Path | None = None

    def display(self, path: Path) -> str:
        """A path in the folder as a report shows it."""
        below = path.relative_to(self.folder).as_posix()
        return below if self.display_path == "." else f"{self.display_path}/{below}"


def is_pruned(folder: str) -> bool:
    """Whether a folder contains pruned instances of a result."""
    return PRUNED in Path(folder).parts


def place_of(folder: Path, display_path: str) -> ResultLocation:
    """The location that the path of a result's folder states."""
    parts = folder.absolute().parts
    at = _results_at(parts)
    scaling: Scaling
    if at is None:
        scaling = "weak" if folder.absolute().parent.name == "weak" else "strong"
        return ResultLocation(folder, display_path, benchmark=parts[-1], scaling=scaling)
    system = parts[at + 1]
    scaling = "weak" if _depth(parts, at) == at + 4 and parts[at + 2] == "weak" else "strong"
    root = Path(*parts[:at])
    description = root / "systems" / f"{system}.json"
    return ResultLocation(
        folder,
        display_path,
        submitter_of(root),
        system,
        # A folder inside a result's folder is a result of the benchmark in its name, if any
        parts[-1],
        scaling,
        None if outside(description) else description,
    )


def result_around(folder: Path) -> Path | None:
    """The folder of the result that contains a folder, from its path; None if there is none."""
    parts = folder.absolute().parts
    at = _results_at(parts)
    if at is None or len(parts) == (depth := _depth(parts, at)):
        return None
    return Path(*parts[:depth])


def _results_at(parts: tuple[str, ...]) -> int | None:
    """The index of `results` in a path with a system and a benchmark below it."""
    # From the right: a folder named results may contain the whole tree, too
    at = next((i for i in range(len(parts) - 2, 0, -1) if parts[i] == "results"), None)
    return None if at is None or len(parts) - at < 3 else at


def _depth(parts: tuple[str, ...], at: int) -> int:
    """The number of parts in the path of a result's folder, given the index of `results`."""
    scaled = len(parts) > at + 3 and parts[at + 2] in SCALINGS
    return at + 4 if scaled else at + 3


def filled(place: ResultLocation, facts: Iterable[Facts], rules: Round) -> ResultLocation:
    """The location with missing values from the logs; the most frequent value is used."""
    known = list(facts)
    benchmark = place.benchmark
    # A folder with any other name says nothing, so the logs decide
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
