"""The reference points of a command: the packaged points of a round, or the points of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.rules.convergence.data import Point, PointError, parse_points, points_of

if TYPE_CHECKING:
    from podium.rules.model.round import Round


LARGEST = 1 << 26
"""Maximum bytes of a points file."""


def points_in(path: Path, round_name: str = "*") -> tuple[Point, ...]:
    """The points of a file, in podium's or the official form."""
    try:
        return parse_points(read_given(path, LARGEST), round_name)
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except (PointError, UnicodeDecodeError) as error:
        raise UsageFault(f"{path}: {error}") from None


def points_for(rules: Round, benchmark: str, file: Path | None) -> tuple[Point, ...]:
    """The points of one benchmark; raises UsageFault if the round has no such benchmark."""
    if file is not None:
        file_points = points_in(file, rules.name)
        # Points without a benchmark belong to the requested benchmark
        return tuple(point for point in file_points if point.benchmark in ("", benchmark))
    points = points_of(rules.usage, rules.name, benchmark)
    # An empty list is correct for minigo, which is not tested, but a misspelled name is an error
    if not points and benchmark not in rules.benchmarks:
        names = ", ".join(sorted(rules.listed))
        raise UsageFault(
            f"{benchmark} is not a benchmark of {rules.title}; expected one of {names}"
        )
    return points


def all_points(rules: Round) -> tuple[Point, ...]:
    """The packaged points of every benchmark of a round."""
    return tuple(
        point
        for benchmark in rules.benchmarks
        for point in points_of(rules.usage, rules.name, benchmark)
    )
