"""The charts of a review: runs, the reference next to them, and runs outside the band."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec.structs import replace

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from podium.compliance.reporting.data import RcpEntry
from podium.compliance.tools.review.anomalies.peers import BAND
from podium.compliance.tools.review.model import Curve, ResultEntry, RunEntry, SystemEntry
from podium.compliance.tools.review.render.charts import KINDS, Picture, data_script, pictures
from podium.compliance.tools.review.render.specification import specification
from tests.compliance.rulebook.cases_review import converging
from tests.compliance.tools.review.rounds import NAME

pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("altair", "vl_convert")),
    reason="the libraries that draw curves are not here",
)

MEAN, MINIMUM, DEVIATION = 1000.0, 940.0, 50.0


def run(end: float, number: int = 0, unit: str = "samples_count", share: float = 1.0) -> RunEntry:
    """A run of two evaluations that converges at `end`; its log counts `share` units per sample."""
    points = [(5.0, end * share / 2, 0.5), (10.0, end * share, 0.75)]
    return RunEntry(
        path=f"Acme/results/ex/bert/result_{number}.txt",
        to_converge=end,
        sigmas_below=(MEAN - end) / DEVIATION,
        quality=Curve(unit=unit, logged=2, points=points),
    )


def result(*runs: RunEntry, name: str = "ex", **fields: Any) -> ResultEntry:
    known: dict[str, Any] = {
        "rcp": RcpEntry(verdict="pass", case="found", batch_size=448, mean=MEAN, minimum=MINIMUM),
        "deviation": DEVIATION,
        "target": 0.72,
    }
    return ResultEntry(
        path=f"Acme/results/{name}/bert",
        submitter="Acme",
        system=SystemEntry(name=name),
        benchmark="bert",
        division="closed",
        runs=runs,
        **(known | fields),
    )


def over_training(*results: ResultEntry) -> Picture:
    return next(iter(pictures("bert", "benchmark-bert", results)))


def rows(picture: Picture, member: str) -> list[dict[str, Any]]:
    return [row for row in picture.data["rows"] if member in row]


def test_the_reference_is_drawn_with_its_mean_band_and_minimum() -> None:
    picture = over_training(result(run(980.0)))
    (reference,) = rows(picture, "mean")
    reach = BAND * DEVIATION
    assert (reference["mean"], reference["minimum"]) == (MEAN, MINIMUM)
    assert (reference["low"], reference["high"]) == (MEAN - reach, MEAN + reach)
    assert rows(picture, "target") == [{"result": 0, "target": 0.72}]
    # The label above the chart names the reference by its batch size
    assert "batch 448: ref. 1k, min. 940" in picture.svg


@pytest.mark.parametrize(
    ("sigmas", "outside"), [(BAND - 0.01, False), (BAND + 0.01, True), (-2 * BAND, False)]
)
def test_only_a_run_left_of_the_band_is_marked(sigmas: float, outside: bool) -> None:
    picture = over_training(result(run(980.0), run(MEAN - sigmas * DEVIATION, 1)))
    (reference,) = rows(picture, "low")
    marked = {(row["run"], row["x"]) for row in rows(picture, "outside")}
    assert {number for number, _ in marked} == ({1} if outside else set())
    ends = {row["run"]: row["x"] for row in rows(picture, "end")}
    assert (ends[1] < reference["low"]) is outside


@pytest.mark.parametrize("share", [1.0, 1 / 2_000_000])
def test_the_reference_has_the_unit_of_the_log(share: float) -> None:
    """The reference is in samples, but a log may count epochs."""
    picture = over_training(result(run(980.0, unit="epoch_num", share=share)))
    (reference,) = rows(picture, "mean")
    assert reference["mean"] == pytest.approx(MEAN * share)


@pytest.mark.parametrize(
    "fields",
    [
        {"rcp": RcpEntry(verdict="not_applicable", case="none"), "deviation": None},
        {"runs": (RunEntry(path="a", quality=Curve(points=[(1.0, 2.0, 0.1)])),)},
    ],
    ids=["no reference", "nothing converged"],
)
def test_no_reference_is_drawn_without_an_rcp_or_a_converged_run(fields: dict[str, Any]) -> None:
    entry = replace(result(run(980.0)), **fields)
    assert rows(over_training(entry), "mean") == []


def test_a_reference_without_scatter_has_a_band_of_zero_width() -> None:
    (reference,) = rows(over_training(result(run(980.0), deviation=0.0)), "mean")
    assert reference["low"] == reference["high"] == MEAN


@pytest.mark.parametrize("live", [False, True], ids=["still", "live"])
def test_the_specification_is_valid_by_the_altair_schema(live: bool) -> None:
    import altair

    made = specification(
        KINDS[0], {"epoch_num"}, [["a"]], live=live, others={"mean", "target", "end"}
    )
    chart = altair.Chart.from_dict(made | {"data": {"values": []}})
    assert chart.to_dict()["columns"] == 3
    with pytest.raises(jsonschema.ValidationError):
        altair.Chart.from_dict(made | {"data": {"values": []}, "facet": {"field": 1}})


def test_results_with_the_same_short_name_have_separate_charts() -> None:
    long = "a-system-whose-name-is-longer-than-a-chart"
    picture = over_training(result(run(980.0), name=f"{long}-1"), result(run(990.0), name=long))
    assert {row["result"] for row in rows(picture, "value")} == {0, 1}
    assert picture.svg.count(">Acme · a-system") == 2


def test_a_hostile_name_is_data_and_not_an_expression() -> None:
    hostile = "</script>'];alert(1)//\u202e"
    picture = over_training(result(run(980.0), name=hostile))
    script = data_script(picture)
    assert script.isascii()
    text = script.partition(" = ")[2].removesuffix(";\n")
    known = json.loads(text)
    assert "\u202e" not in json.dumps(known, ensure_ascii=False)
    bare = {name: part for name, part in known["specification"].items() if name != "params"}
    assert "alert" not in json.dumps(bare)
    (titles,) = [each for each in known["specification"]["params"] if each["name"] == "titles"]
    assert "alert(1)" in titles["value"][0][0]


def test_the_note_counts_the_runs_outside_the_band(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    converging(368_640, 4608)(tmp_path)
    assert cli.run(["review", str(tmp_path / NAME), "--format", "json"]) == Exit.FOUND
    made = json.loads(capsys.readouterr().out)
    (entry,) = made["results"]
    far = [each for each in entry["runs"] if each["sigmas_below"] > BAND]
    (note,) = [each for each in made["notes"] if each["rule"] == "review.outside-band"]
    assert f"affected: {len(far)} of {len(entry['runs'])} runs" in note["message"]
    assert entry["target"] == 5.6
