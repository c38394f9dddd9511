"""Write the table of source sizes in `docs/architecture.md`.

Run `python docs/site/sizes.py` (part of `make docs`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- sizes -->\n", "<!-- end of sizes -->\n"
PARTS = ("compliance", "rules", "logging_spec", "reference_runs", "tests", "benchmarks", "docs")


class Size(NamedTuple):
    """Python modules of a folder, and their lines with comments and blank lines."""

    modules: int
    lines: int


def size(folder: Path) -> Size:
    """The size of all modules below a folder."""
    lines = [path.read_bytes().count(b"\n") for path in folder.rglob("*.py")]
    return Size(len(lines), sum(lines))


def folder_sizes(part: str) -> dict[str, Size]:
    """The size of each folder of a part that has modules."""
    folders = sorted(path for path in (ROOT / part).iterdir() if path.is_dir())
    measured = {path.name: size(path) for path in folders}
    return {name: found for name, found in measured.items() if found.lines}


def table() -> str:
    """The sizes as Markdown: a row for each part; lines rounded to hundreds."""
    rows = ["| part | modules | lines | lines by folder |", "|---|---:|---:|---|"]
    for part in PARTS:
        modules, lines = size(ROOT / part)
        inside = ", ".join(
            f"`{name}` {round(folder.lines, -2):,}" for name, folder in folder_sizes(part).items()
        )
        rows.append(f"| `{part}/` | {modules} | {round(lines, -2):,} | {inside} |")
    return "\n".join(rows) + "\n"


def written(page: str) -> str:
    """A page with the table between its marks."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
