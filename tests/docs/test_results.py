"""The page on the tables of a store matches the code."""

from __future__ import annotations

import sys

from tests.compliance.command_line import podium
from tests.locations import ROOT


def test_the_page_describes_every_table() -> None:
    sys.path.insert(0, str(ROOT / "docs/site"))
    try:
        import tables
    finally:
        sys.path.pop(0)
    page = tables.page()
    shown = podium("results", "schema").stdout
    assert shown.count("### ") >= 7
    assert page.endswith(shown.replace("### ", "## "))
