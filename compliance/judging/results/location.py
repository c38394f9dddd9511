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
        relative_path = path.relative_to(self.folder).as_posix()
        return relative_path if self.display_path == "." else f"{self.display_path}/{relative_path}"


def is_pruned(folder: str) -> bool:
    """Whether a folder contains pruned instances of a result."""
    return PRUNED in Path(folder).parts


def place_of(folder: Path, display_path: str) -> ResultLocation:
    """The location that the path of a result's folder states."""
    parts = folder.absolute().parts
    index = _results_at(parts)
    scaling: Scaling
    if index is None:
        scaling = "weak" if folder.absolute().parent.name == "weak" else "strong"
        return ResultLocation(folder, display_path, benchmark=parts[-1], scaling=scaling)
    system = parts[index + 1]
    scaling = (
        "weak" if _depth(parts, index) == index + 4 and parts[index + 2] == "weak" else "strong"
    )
    root = Path(*parts[:index])
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
    index = _results_at(parts)
    if index is None or len(parts) == (depth := _depth(parts, index)):
        return None
    return Path(*parts[:depth])


def _results_at(parts: tuple[str, ...]) -> int | None:
    """The index of `results` in a path with a system and a benchmark below it."""
    # From the right: a folder named results may contain the whole tree, too
    index = next((i for i in range(len(parts) - 2, 0, -1) if parts[i] == "results"), None)
    return None if index is None or len(parts) - index < 3 else index


def _depth(parts: tuple[str, ...], index: int) -> int:
    """The number of parts in the path of a result's folder, given the index of `results`."""
    has_scaling = len(parts) > index + 3 and parts[index + 2] in SCALINGS
    return index + 4 if has_scaling else index + 3


def filled(location: ResultLocation, facts: Iterable[Facts], rules: Round) -> ResultLocation:
    """The location with missing values from the logs; the most frequent value is used."""
    all_facts = list(facts)
    benchmark = location.benchmark
    # A folder with any other name says nothing, so the logs decide
    if benchmark not in rules.benchmarks:
        benchmark = _usual(log_facts.run.benchmark for log_facts in all_facts) or benchmark
    return replace(
        location,
        benchmark=benchmark,
        submitter=location.submitter or _usual(log_facts.org for log_facts in all_facts),
        system=location.system or _usual(log_facts.platform for log_facts in all_facts),
    )


def _usual(values: Iterable[str | None]) -> str:
    counted = Counter(value for value in values if value)
    return counted.most_common(1)[0][0] if counted else ""
