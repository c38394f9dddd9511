"""Make the pictures of the documentation in docs/pictures/: `make pictures`.

The pictures show the output of podium for a generated submission. Chromium makes the pictures of
pages. The script needs the builders of the tests.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from tests.compliance.trees import usual

PICTURES = Path(__file__).parent.parent / "pictures"
COLUMNS = 80
SIZE = (1200, 800)
"""Size of the pictures of pages, in pixels."""
# The format of rich downloads fonts, which are removed here
SVG = re.sub(r"@font-face \{\{.*?\}\}\n*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def made(place: Path) -> Path:
    """Make a log that violates a rule and a submission with three faults."""
    tree = usual(place)
    tree.log(1, lambda log: log.set("opt_adamw_beta_2", 0.98))
    shutil.copyfile(tree.root / "results/ex_n8/llama31_405b/result_1.txt", place / "result_0.txt")
    tree.log(2, lambda log: log.drop("run_stop"))
    (tree.root / "results/ex_n8/.DS_Store").write_bytes(b"junk")
    return place


def podium(*words: str, folder: Path) -> str:
    """Return the output of a command on a terminal with colors."""
    around = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "podium", *words],
        cwd=folder,
        env=around,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    return done.stdout


def terminal(path: Path, command: str, folder: Path) -> None:
    """Write a picture of a terminal after a command."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(podium(*command.split()[1:], folder=folder)))
    svg = console.export_svg(title="", code_format=SVG, unique_id=path.stem)
    path.write_text(svg, encoding="utf-8")


def page(path: Path, source: Path) -> None:
    """Write a picture of a page with Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    width, height = SIZE
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(f"--user-data-dir={profile}", f"--window-size={width},{height}"),
                *(f"--screenshot={path}", source.as_uri()),
            ],
            capture_output=True,
            check=True,
            timeout=120,
        )


def main() -> None:
    """Make all pictures, or only those of terminals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PICTURES)
    parser.add_argument("--terminals", action="store_true", help="omit the pictures of pages")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        place = made(Path(name))
        terminal(given.output / "verdict.svg", "podium check result_0.txt --round 5.1", place)
        terminal(given.output / "submission.svg", "podium check Acme --round 5.1", place)
        if given.terminals:
            return
        report = place / "report.html"
        words = ("check", "Acme", "--round", "5.1", "--format", "html")
        report.write_text(podium(*words, folder=place), encoding="utf-8")
        page(given.output / "report.png", report)


if __name__ == "__main__":
    main()
