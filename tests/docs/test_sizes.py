"""docs/architecture.md: the table of source sizes is approximately correct."""

from __future__ import annotations

import re

import pytest

from tests.locations import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)/` \| (\d+) \| ([\d,]+) \|", PAGE, re.MULTILINE)


def test_every_part_of_the_package_has_a_row() -> None:
    assert {path.name for path in (ROOT / "src/podium").iterdir() if path.is_symlink()} <= {
        name for name, _, _ in ROWS
    }


@pytest.mark.parametrize(("part", "modules", "lines"), ROWS)
def test_the_sizes_in_the_table_are_within_ten_percent(part: str, modules: str, lines: str) -> None:
    counts = [path.read_bytes().count(b"\n") for path in (ROOT / part).rglob("*.py")]
    message = "run `python docs/site/sizes.py`"
    assert len(counts) == pytest.approx(int(modules), rel=0.1), message
    assert sum(counts) == pytest.approx(int(lines.replace(",", "")), rel=0.1), message
