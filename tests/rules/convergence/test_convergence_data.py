"""Reference points as data, and additional files with points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.rules import rounds
from podium.rules.convergence import data
from podium.rules.convergence.data import (
    Point,
    PointError,
    parse_points,
    points_of,
    rounds_with_points,
)
from tests.locations import FACTS

FIGURES = FACTS / "rcps.json"


@pytest.mark.facts
def test_points_equal_the_published_figures() -> None:
    figures = json.loads(FIGURES.read_text())
    for usage, by_round in figures.items():
        for round_name, benchmarks in by_round.items():
            for benchmark, expected in benchmarks.items():
                found = points_of(usage, round_name, benchmark)
                assert [as_figures(point) for point in found] == expected


def as_figures(point: Point) -> dict[str, Any]:
    names = ("id", "benchmark", "batch_size", "unit", "hyperparameters", "creator", "when")
    more = ("platform", "precision", "reference_version")
    figures = {name: getattr(point, name) for name in names + more}
    return figures | {"to_converge": list(point.to_converge)}


@pytest.mark.facts
def test_a_benchmark_has_points_exactly_if_figures_are_published() -> None:
    figures = json.loads(FIGURES.read_text())
    for usage, round_name in rounds:
        for benchmark in rounds[usage, round_name].benchmarks:
            has = benchmark in figures[usage].get(round_name, {})
            assert bool(points_of(usage, round_name, benchmark)) == has


def test_bundled_files_are_parsed_like_any_other_file() -> None:
    folder = Path(data.__file__).parent / "data"
    files = sorted(folder.glob("*/*.json"))
    assert len(files) > 20
    for path in files:
        usage, benchmark = path.parent.name, path.stem
        for name in rounds_with_points(usage, benchmark):
            theirs = parse_points(path.read_bytes(), name)
            assert repr(points_of(usage, name, benchmark)) == repr(theirs)


def test_unknown_rounds_and_benchmarks_have_no_points() -> None:
    assert points_of("training", "5.1", "no_such") == ()
    assert points_of("training", "5.1", "../training/bert") == ()
    assert points_of("training", "9.9", "bert") == ()
    assert rounds_with_points("training", "retinanet") == ("5.0", "5.1")


OFFICIAL = {
    "x_ref_8": {
        "Benchmark": "x",
        "BS": 8,
        "Hyperparams": {"opt_base_learning_rate": 0.1},
        "Epochs to converge": [3, 4, 5, 6],
        "Creator": "someone",
        "Precision": "FP32",
    },
    "x_ref_16": {"Benchmark": "x", "BS": 16, "samples to converge": [30, 40, 50]},
}
OWN = {
    "schema": "podium.rcp/1",
    "benchmark": "x",
    "points": [
        {"id": "a", "batch_size": 8, "to_converge": [3, 4, 5, 6], "unit": "epochs"},
        {"id": "b", "batch_size": 16, "to_converge": [30, 40, 50]},
    ],
}


def test_the_official_format_is_read() -> None:
    first, second = parse_points(json.dumps(OFFICIAL))
    assert (first.id, first.batch_size, first.to_converge) == ("x_ref_8", 8, (3, 4, 5, 6))
    assert (first.creator, first.precision, first.unit) == ("someone", "FP32", "epochs")
    assert (second.to_converge, second.unit) == ((30, 40, 50), "samples")


def test_the_podium_format_is_read_for_any_round_or_one_round() -> None:
    assert [point.id for point in parse_points(json.dumps(OWN), "5.1")] == ["a", "b"]
    by_round = OWN | {"rounds": {"5.1": [1]}}
    assert [point.id for point in parse_points(json.dumps(by_round), "5.1")] == ["b"]
    assert parse_points(json.dumps(by_round), "6.0") == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"a": 1}', "a must be an object"),
        ('{"a": {"BS": 0, "Epochs to converge": [1, 2, 3]}}', "BS is 0; must be a number above 0"),
        ('{"a": {"BS": 8}}', "must be a list of numbers"),
        ('{"a": {"BS": 8, "Epochs to converge": [1, 2]}}', "has 2 values; must have 3 or more"),
        ('{"a": {"BS": 8, "Epochs to converge": [1, 2, null]}}', "finite numbers above 0"),
        ('{"a": {"BS": 8, "Epochs to converge": [1, 2, Infinity]}}', "finite numbers above 0"),
        (
            f'{{"a": {{"BS": 8, "Epochs to converge": [1, 2, 1{"0" * 400}]}}}}',
            "finite numbers above 0",
        ),
        (f'{{"a": {{"BS": 1{"0" * 400}, "Epochs to converge": [1, 2, 3]}}}}', "a number above 0"),
        ('{"schema": "other"}', "podium.rcp/1"),
        ('{"schema": "podium.rcp/1", "points": [1]}', "points[0] must be an object"),
        ('{"schema": "podium.rcp/1", "points": [], "rounds": {"5.1": [3]}}', "rounds must map"),
    ],
)
def test_an_invalid_file_is_refused_with_a_reason(text: str, says: str) -> None:
    with pytest.raises(PointError) as caught:
        parse_points(text)
    assert says in str(caught.value)
