"""Bars in a terminal: one scale for each group, and names are printed as plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.compliance.reporting.bars import Bar, bars
from tests.compliance.command_line import podium
from tests.compliance.tools.review.rounds import NAME, submission


def test_bars_in_a_group_share_one_scale() -> None:
    text = bars(
        [Bar("a", "one", 4.0, "4"), Bar("a", "two", 2.0, "2"), Bar("b", "three", 1.0, "1")], 40
    )
    counts = [line.count("█") for line in text.splitlines()]
    heads = [line for line in text.splitlines() if "█" not in line]
    assert heads == ["a", "", "b"]
    assert counts[1] == pytest.approx(2 * counts[2], abs=1)
    assert max(map(len, text.splitlines())) <= 40


def test_markup_and_escape_sequences_in_names_have_no_effect() -> None:
    text = bars([Bar("[bold]g", "[red]x\x1b[31m", 1.0, "1")], 60)
    assert "[bold]g" in text
    assert "[red]x" in text
    assert "\x1b" not in text


def test_an_empty_list_of_bars_prints_nothing() -> None:
    assert bars([], 40).strip() == ""


def test_the_bars_option_of_score_draws_bars(tmp_path: Path) -> None:
    submission(tmp_path)
    done = podium("score", tmp_path / NAME, "--bars", "--quiet")
    assert "llama31_405b, closed: minutes\nAcme ex_n8" in done.stdout
    assert "█" in done.stdout


@pytest.mark.parametrize("more", [("--format", "csv"), ("--explain", "ex_n8")])
def test_the_bars_option_needs_the_text_format(more: tuple[str, str], tmp_path: Path) -> None:
    submission(tmp_path)
    done = podium("score", tmp_path / NAME, "--bars", *more)
    assert (done.exit_code, "--bars needs the text format" in done.stderr) == (2, True)
