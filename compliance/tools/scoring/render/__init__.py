"""Scores in every format: text, JSON, CSV, Markdown, HTML, Excel and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores

BINARY = frozenset({"xlsx", "parquet"})
"""Formats that are written to a file, never printed."""


def render(scores: Scores, name: str, *, long: bool = False) -> str:
    """The scores as text in a format that is printed; `long` gives CSV one row per run."""
    if name == "json":
        return scores.to_json()
    if name == "csv":
        # Loaded on demand: no command waits for the modules of a format it does not print
        from podium.compliance.tools.scoring.render.rows import to_csv

        return to_csv(scores, long=long)
    if name == "markdown":
        from podium.compliance.tools.scoring.render.markdown import to_markdown

        return to_markdown(scores)
    from podium.compliance.tools.scoring.render.page import to_html

    return to_html(scores)


def write_binary(scores: Scores, name: str, output: Path | None, *, long: bool = False) -> None:
    """Write the scores to a file in a binary format; raises UsageFault where that cannot be."""
    if output is None:
        raise UsageFault(f"--format {name} needs --output FILE")
    from podium.compliance.tools.scoring.render import sheets

    try:
        if name == "xlsx":
            sheets.write_xlsx(scores, output)
        else:
            sheets.write_parquet(scores, output, long=long)
    except OSError as error:
        raise UsageFault(f"{output} cannot be written: {error.strerror or error}") from None
