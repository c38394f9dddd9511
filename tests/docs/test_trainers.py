"""The tables of trainers in the documentation match the configurations."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.reference_runs.catalogue import find, names
from tests.locations import ROOT

PAGES = ("trainer_list.md", "meshes.md")


@pytest.fixture
def trainers(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    monkeypatch.delitem(sys.modules, "trainers", raising=False)
    return __import__("trainers")


@pytest.mark.parametrize("name", PAGES)
def test_generated_columns_are_up_to_date(name: str, trainers: Any) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert text == trainers.page(name), "run `python docs/site/trainers.py`"


def test_an_old_cell_is_replaced(
    tmp_path: Path, trainers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = (
        f"| name | {heading} |\n|---|---|\n| `ssd` | 9.9 |\n" for heading in ("rounds", "data")
    )
    table = "\n".join(tables)
    (tmp_path / PAGES[0]).write_text(table)
    monkeypatch.setattr(trainers, "DOCS", tmp_path)
    filled = trainers.page(PAGES[0])
    assert filled == table.replace("9.9", "0.7 to 1.1", 1)


def test_every_trainer_is_listed_with_its_smoke_target() -> None:
    text = (ROOT / "docs" / PAGES[0]).read_text(encoding="utf-8")
    first, second = (
        table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    )
    for rows in (first, second):
        assert [row.split("`")[1] for row in rows[2:]] == [*names()]
    for row in first[2:]:
        quality = row.split("|")[4]
        numbers = [float(each) for each in re.findall(r"\d+\.\d+|\d+", quality)]
        assert find(row.split("`")[1]).smoke().target in numbers, row
