"""The page on stores has the tables as the code has them."""

from __future__ import annotations

from tests.compliance.command_line import podium
from tests.locations import ROOT


def test_the_page_describes_every_table() -> None:
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert page.endswith(podium("results", "schema").stdout)
