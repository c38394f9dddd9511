"""Render scores in every format: text, JSON, CSV, Markdown, HTML, Excel and Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores

BINARY = frozenset({"xlsx", "parquet"})
"""Formats that can only be written to a file."""


def render(scores: Scores, name: str, *, long: bool = False) -> str:
    """The scores in a printable format; with `long`, CSV has one row per run."""
    if name == "json":
        return scores.to_json()
    if name == "csv":
        # Imported on demand, so that no command loads the modules of unused formats
        from podium.compliance.tools.scoring.render.rows import to_csv

        return to_csv(scores, long=long)
    if name == "markdown":
        from podium.compliance.tools.scoring.render.markdown import to_markdown

        return to_markdown(scores)
    from podium.compliance.tools.scoring.render.page import to_html

    return to_html(scores)


def write_binary(scores: Scores, name: str, output: Path | None, *, long: bool = False) -> None:
    """Write the scores to a file in a binary format; raises UsageFault if this is impossible."""
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
