"""The pictures in the documentation match podium's current output."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compliance.web import chromium
from tests.locations import ROOT

PICTURES = ROOT / "docs" / "pictures"
LARGEST = 600_000
"""Size limit of all pictures together, in bytes."""


def made(output: Path, *words: str) -> None:
    script = ROOT / "docs" / "examples" / "pictures.py"
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))  # as in `make pictures`
    subprocess.run(
        [sys.executable, script, "--output", output, *words],
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
    )


def shown(picture: Path) -> list[str]:
    """The texts of a terminal picture. Their positions depend on the version of rich."""
    pieces = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text(encoding="utf-8"))
    return [text for piece in pieces if (text := html.unescape(piece).replace("\xa0", " ").strip())]


def test_a_terminal_picture_shows_the_current_output(tmp_path: Path) -> None:
    made(tmp_path, "--terminals")
    for new in sorted(tmp_path.glob("*.svg")):
        assert shown(PICTURES / new.name) == shown(new), "make pictures"
        assert "REJECTED" in shown(new)


def test_every_picture_is_on_a_page_and_loads_no_resource() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    linked = {
        (page.parent / link).resolve()
        for page in pages
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    there = {*PICTURES.iterdir()}
    assert linked == there
    assert sum(picture.stat().st_size for picture in there) < LARGEST
    for picture in PICTURES.glob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert "url(http" not in text
        assert "href" not in text


@pytest.mark.long
def test_all_pictures_can_be_generated(tmp_path: Path) -> None:
    chromium()
    made(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in PICTURES.iterdir()}
    report = (tmp_path / "report.png").read_bytes()
    assert report[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(report[at : at + 4], "big") for at in (16, 20)] == [1200, 800]
