"""Parts of the pages of a store: charts, file names, cells, footnotes and links."""

from __future__ import annotations

import math
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.compliance.reporting.pages.templates import distinct, plain_name, slugs
from podium.compliance.tools.store.analyses.table import Analysis
from podium.compliance.tools.store.site.figures import parts
from podium.compliance.tools.store.site.findings import grouped
from podium.compliance.tools.store.site.plots import HEIGHT, WIDTH, Axis, Line, Rule, plot
from podium.compliance.tools.store.site.row import completed, footnotes, members
from podium.compliance.tools.store.site.sources import Source, source_of
from podium.compliance.tools.store.site.strips import strips
from podium.compliance.tools.store.site.tables import best_of, matrices, spans

Row = dict[str, Any]


def result(**said: Any) -> Row:
    """A closed result of training 5.1."""
    given: Row = {
        "suite": "training",
        "round": "5.1",
        "result": "r/Acme/results/n8/bert",
        "submitter": "Acme",
        "system": "n8",
        "benchmark": "bert",
        "model": "bert",
        "division": "closed",
        "category": "Available cloud",
        "comparable_from": "5.0",
        "comparable_to": "6.0",
        "scaling": "strong",
        "score": 10.0,
        "models_per_minute": None,
        "chips": 8,
        "chip": "X1",
    }
    return given | said


# --- charts ---------------------------------------------------------------------------------------

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6)


@given(st.lists(POINTS, max_size=3), st.booleans(), st.booleans(), st.lists(NUMBERS, max_size=2))
def test_every_drawn_point_is_inside_the_chart(
    curves: list[list[tuple[float, float]]], log_x: bool, log_y: bool, rules: list[float]
) -> None:
    lines = [Line(points, "a", "c0", dotted=True) for points in curves]
    across = [Rule(at, "mean", "mean") for at in rules]
    made = plot("a", Axis("x", log=log_x), Axis("y", log=log_y), lines, across)
    if made is None:
        return
    spots = [(x, y) for _, x, y, _ in made.dots]
    spots += [(x, 0) for x, _ in made.across] + [(0, y) for y, _ in made.upward]
    spots += [ends[:2] for _, ends, _ in made.rules]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in spots)
    assert made.dots
    assert len(made.across) <= 20
    assert len(made.upward) <= 20


def test_a_chart_keeps_order_and_proportions() -> None:
    lines = [Line([(0.0, 1.0), (5.0, 2.0), (10.0, 4.0)], "run", "c1")]
    made = plot("a", Axis("epochs"), Axis("quality"), lines, [Rule(5.0, "mean", "mean")])
    assert made is not None
    ((kind, text, title),) = made.lines
    steps = [*map(int, re.findall(r"-?\d+", text))]
    points = [*zip(accumulate(steps[::2]), accumulate(steps[1::2]), strict=True)]
    assert (kind, title) == ("c1", "run")
    assert points[1][0] - points[0][0] == pytest.approx(points[2][0] - points[1][0], abs=1)
    assert points[1][1] - points[2][1] == pytest.approx(2 * (points[0][1] - points[1][1]), abs=2)
    assert made.rules[0][1][0] == points[1][0]
    assert [text for _, text in made.across] == ["0", "5", "10"]


@pytest.mark.parametrize(
    ("ends", "wanted"),
    [((1.0, 100.0), ["1", "2", "5", "10", "20", "50", "100"]), ((0.2, 2e6), ["1", "10", "100"])],
)
def test_a_logarithmic_axis_has_round_numbers(ends: tuple[float, float], wanted: list[str]) -> None:
    made = plot("a", Axis("x"), Axis("y", log=True), [Line([(0, ends[0]), (1, ends[1])], "", "c0")])
    assert made is not None
    assert [text for _, text in made.upward][: len(wanted)] == wanted


OF_MODEL = {"suite": "training", "round": "5.1", "model": "bert", "submitter": "A", "chip": "X1"}


def test_the_efficiency_of_a_family_has_intervals() -> None:
    rows = [
        OF_MODEL
        | {"division": "closed", "chips": chips, "efficiency": value}
        | {"efficiency_low": value - 0.1 if at else None, "efficiency_high": value + 0.2}
        for at, (chips, value) in enumerate([(8, 1.0), (16, 0.9), (32, 0.8)])
    ]
    (part,) = parts(Analysis("scaling", "", (), rows))
    (figure,) = part.figures
    assert figure.plot is not None
    (whiskers,) = [path for kind, path, _ in figure.plot.lines if kind == "c0 interval"]
    # Both larger systems have an interval; the base has none
    assert whiskers.count("M") == 2
    assert "90 % intervals" in figure.plot.label


def test_the_spread_of_runs_has_an_interval() -> None:
    row = OF_MODEL | {"benchmark": "bert", "division": "closed"}
    rows = [row | {"deviation": 0.1, "low": 0.05, "high": 0.2}]
    (part,) = parts(Analysis("variance", "", (), rows))
    bars = part.figures[0].bars
    assert bars is not None
    assert bars.rows[0].interval == (0.25, 1.0)
    assert bars.rows[0].parts == [("c0", 0.0, 0.5)]


def test_a_result_without_energy_has_no_power_bar() -> None:
    row = OF_MODEL | {"division": "closed", "chips": 8, "kwh": None}
    assert parts(Analysis("power", "", (), [row])) == []
    (part,) = parts(Analysis("power", "", (), [row, row | {"kwh": 2.0}]))
    assert [len(figure.bars.rows) for figure in part.figures if figure.bars] == [1]


def test_points_that_cannot_be_drawn_give_no_chart() -> None:
    axes = Axis("x"), Axis("y", log=True)
    assert plot("a", *axes, [Line([(1.0, 0.0), (math.nan, 3.0), (1.0, -1.0)], "", "c0")]) is None
    assert plot("a", *axes, []) is None


# --- names ----------------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="aA!_2.", max_size=4), unique=True))
def test_different_names_have_different_files(names: list[str]) -> None:
    found = slugs(names, "x")
    assert [*found] == names
    assert len({each.casefold() for each in found.values()}) == len(names)


def test_names_with_the_same_slug_have_different_suffixes() -> None:
    assert slugs(["a", "a!", "a_2"], "x") == {"a": "x-a", "a!": "x-a_2", "a_2": "x-a_2_2"}
    assert distinct([(1, "b"), (2, "B"), (3, "b")]) == {1: "b", 2: "B_2", 3: "b_3"}
    assert plain_name("../..") == "none"


# --- cells ----------------------------------------------------------------------------------------


def test_a_cell_has_the_best_closed_result_of_each_category() -> None:
    rows = [
        result(result="a", score=9.0),
        result(result="b", score=7.0),
        result(result="c", score=1.0, division="open"),
        result(result="d", score=2.0, division=""),
        result(result="e", score=None),
        result(result="f", score=8.0, category="Preview"),
        result(result="g", score=5.0, scaling="weak", models_per_minute=3.0),
        result(result="h", score=5.0, scaling="weak", models_per_minute=4.0),
    ]
    assert [(one.result, one.number, one.rate) for one in best_of(rows)] == [
        ("b", 7.0, False),
        ("f", 8.0, False),
        ("h", 4.0, True),
    ]
    ((suite, rounds, ((model, (cell,)),)),) = matrices(rows)
    assert (suite, rounds, model) == ("training", ["5.1"], "bert")
    assert cell is not None
    assert cell.counts == [("closed", 6), ("open", 1), ("no division", 1)]


def test_only_comparable_rounds_share_a_chart() -> None:
    rows = [
        result(result="a", round="10.0", score=3.0),
        result(result="b", round="9.1", score=4.0),
        result(result="c", round="9.1", score=5.0),
        result(result="d", round="9.0", comparable_from="9.0", comparable_to="9.0"),
        result(result="e", round="10.0", score=0.1, division="open"),
    ]
    (span,) = spans(rows)
    assert span.rounds == ["9.1", "10.0"]
    found = {name: [(at, row["result"]) for at, row in of] for name, of in span.best.items()}
    assert found == {"cloud": [(0, "b"), (1, "a")]}


def test_spellings_of_a_category_share_a_line_in_a_chart() -> None:
    rows = [
        result(round="5.0", category="Available on-premise"),
        result(category="Available On-Premise", score=9.0),
        result(category="available on premise", score=11.0),
    ]
    (span,) = spans(rows)
    assert [*span.best] == ["on-premise"]
    assert [row["score"] for _, row in span.best["on-premise"]] == [10.0, 9.0]
    assert [entry.category for entry in best_of(rows)] == ["on-premise"]


def test_the_spread_is_the_deviation_over_the_mean_of_the_runs() -> None:
    row = result(minutes=10.0, deviation=1.0, rcp_minimum=None, to_converge=None)
    assert completed(row, [9.0, 10.0, 10.0, 21.0])["spread"] == 1 / 12.5


def test_a_shortened_label_keeps_its_chips() -> None:
    row = result(submitter="University-of-Somewhere-Else", family="GB300", chips=1152)
    made, _ = strips(row, [row], {row["result"]: [{"role": "scored", "minutes": 5.0}]})
    assert made is not None
    (line,) = made.lines
    assert line.label.endswith("…, 1152 \N{MULTIPLICATION SIGN} GB300")
    assert len(line.label) <= 26


def test_findings_with_one_message_are_grouped_and_sorted_by_severity() -> None:
    given = {"key": "k", "cites": "c", "waived": False, "file": "f", "line": 3}
    rows = [
        *({**given, "severity": "note", "rule": "a", "message": "m"} for _ in range(5)),
        {**given, "severity": "error", "rule": "b", "message": "n"},
        *({**given, "severity": "note", "rule": "x", "message": f"{n:02}"} for n in range(40)),
    ]
    found = grouped(rows)
    assert [(each.rule, each.times) for each in found.groups[:2]] == [("b", 1), ("a", 5)]
    assert found.groups[1].places == [("f", 3)]
    assert len(found.groups) + found.more == 42


def test_a_rule_with_many_messages_does_not_hide_other_rules() -> None:
    plain = {"severity": "warning", "waived": False, "cites": "", "file": "f", "line": 3}
    rows = [plain | {"rule": "a", "message": str(number)} for number in range(30)]
    found = grouped([*rows, plain | {"rule": "b", "message": "x"}])
    assert [each.rule for each in found.groups] == [*"aaaa", "b"]
    assert found.more == 26


def test_a_description_that_is_not_an_object_has_no_fields() -> None:
    assert members('{"a": "x", "b": [1, null], "c": 2}') == [
        ("a", "x"),
        ("b", "[1, null]"),
        ("c", "2"),
    ]
    assert members("[1]") == members("{") == members(None) == []


# --- footnotes ------------------------------------------------------------------------------------


def test_a_footnote_has_the_required_statements() -> None:
    published, unverified = footnotes(result(score=1.23456))
    assert published.startswith(
        "MLPerf® Training v5.1, closed division, Available cloud, benchmark bert: 1.235 minutes to "
        "train, 8 X1, submitted by Acme on n8. Result verified by MLCommons Association, ID "
        "5.1-[entry]. Retrieved from mlcommons.org/benchmarks/training on [date of retrieval]."
    )
    assert unverified.startswith("Unverified MLPerf® Training v5.1, closed division")
    assert "[entry]" not in unverified


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"score": None}, ""),
        ({"scaling": "weak", "models_per_minute": None}, ""),
        ({"suite": "hpc", "scaling": "weak", "models_per_minute": 0.5}, "0.5 models per minute"),
        ({"suite": "hpc"}, "MLPerf® HPC v5.1"),
        ({"division": "", "category": None, "chips": None, "chip": ""}, "division not stated"),
        ({"division": "open"}, "open division"),
    ],
)
def test_the_footnote_depends_on_the_result(said: Row, wanted: str) -> None:
    published, unverified = footnotes(result(**said))
    assert wanted in published
    assert bool(published) is bool(unverified) is bool(wanted)


# --- links to lines -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "wanted"),
    [
        ("https://h/b", "https://h/b/r_v1/A%20B/l.txt#L7"),
        ("https://h/{round}/blob/main/", "https://h/r_v1/blob/main/A%20B/l.txt#L7"),
        ("http://h/a b", "http://h/a%20b/r_v1/A%20B/l.txt#L7"),
    ],
)
def test_a_line_has_an_address_in_the_source(prefix: str, wanted: str, tmp_path: Path) -> None:
    source = source_of(prefix, tmp_path / "site")
    assert source.link("r_v1/A B/l.txt", 7, "../") == wanted
    assert source.link("r_v1/A B/l.txt", None) == wanted.removesuffix("#L7")


@pytest.mark.parametrize("file", ["", None, "a/../../b", "/etc/passwd", "a//b", "./a"])
def test_a_path_outside_the_source_has_no_link(file: str | None) -> None:
    assert Source("https://h", remote=True).link(file, 1) == ""


def test_a_source_folder_is_linked_from_pages_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "my rounds").mkdir()
    source = source_of(str(tmp_path / "my rounds"), tmp_path / "site")
    assert source.link("r/a.txt", 7) == "../my%20rounds/r/a.txt"
    assert source.link("r/a.txt", 7, "../") == "../../my%20rounds/r/a.txt"
