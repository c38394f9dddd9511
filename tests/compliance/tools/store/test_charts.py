"""Charts are drawn offline, and names in them are plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.errors import UsageFault
from podium.compliance.tools.store.analyses.breakdown import breakdown
from podium.compliance.tools.store.analyses.charts import CHARTS, write_chart
from podium.compliance.tools.store.analyses.compare import compare
from podium.compliance.tools.store.analyses.cost import Price, cost
from podium.compliance.tools.store.analyses.power import power
from podium.compliance.tools.store.analyses.rounds import rounds
from podium.compliance.tools.store.analyses.scaling import scaling, scaling_bars
from podium.compliance.tools.store.analyses.table import Analysis
from podium.compliance.tools.store.analyses.variance import variance
from tests.compliance.command_line import podium
from tests.compliance.tools.store.made import result

HOSTILE = "</script><script>alert(1)</script>"
GIVEN = [
    result(9, 10, 11, joules=1e6, submitter=HOSTILE),
    result(5, 5.5, 6, chips=16, joules=2e6, submitter=HOSTILE),
]
PRICE = Price(
    instance="x",
    accelerator="X1",
    count=8,
    region="eu",
    price=1.0,
    spot=None,
    date="2026-11-01",
    source="list",
)
MADE = [
    *(scaling(GIVEN), variance(GIVEN), breakdown(GIVEN, suite=None), rounds(GIVEN), power(GIVEN)),
    cost(GIVEN, [PRICE]),
]


def test_every_chart_is_tested() -> None:
    # The tests of `podium kernels compare` draw the chart of kernels
    assert {each.name for each in MADE} == CHARTS.keys() - {"kernels"}


@pytest.mark.long  # the drawing library takes seconds to start
@pytest.mark.parametrize("made", MADE, ids=lambda each: each.name)
def test_a_chart_has_its_title_and_says_that_it_is_not_official(
    made: Analysis, tmp_path: Path
) -> None:
    write_chart(made, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text.startswith("<svg")
    assert made.title in text
    assert "not an official MLPerf® result" in text
    assert "<script" not in text


@pytest.mark.long
def test_a_chart_page_uses_no_network_and_runs_no_script_in_a_name(tmp_path: Path) -> None:
    for name in ("a.html", "a.png"):
        write_chart(MADE[4], tmp_path / name)
    page = (tmp_path / "a.html").read_text()
    assert 'src="http' not in page
    assert "<script>alert(1)" not in page
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.pdf", "a"])
def test_an_unsupported_file_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match=r"must end in \.svg, \.png, \.html"):
        write_chart(MADE[0], tmp_path / name)


def test_an_analysis_without_a_chart_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="nothing to draw"):
        write_chart(power([]), tmp_path / "a.svg")
    with pytest.raises(UsageFault, match="compare has no chart"):
        write_chart(compare(GIVEN[:1] * 2, "sys", "sys"), tmp_path / "a.svg")


def test_terminal_bars_show_the_chips_and_say_that_they_are_not_official(
    two_submissions: Path,
) -> None:
    done = podium("results", "scaling", "--store", two_submissions, "--bars")
    assert (done.exit_code, "not an official MLPerf® result" in done.stdout) == (0, True)
    text = scaling_bars(scaling(GIVEN), 60)
    assert "8 chips" in text
    assert "16 chips" in text
    assert "100 %" in text
    refused = podium("results", "scaling", "--store", two_submissions, "--bars", "--by-model")
    assert (refused.exit_code, "--bars needs" in refused.stderr) == (2, True)
