"""`podium serve`: a read-only MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.cli.help import examples
from podium.compliance.errors import UsageFault

SERVED = f"{__package__}.served"
"""The module that makes one answer."""

EXAMPLES = examples("podium serve", "podium serve training_results_v5.1 --timeout 60")


def serve(
    root: Annotated[
        Path, typer.Argument(help="Folder to serve; nothing outside it is read.", metavar="[DIR]")
    ] = Path(),
    timeout: Annotated[
        float,
        typer.Option("--timeout", help="Time limit of one answer.", min=1, metavar="SECONDS"),
    ] = 300,
) -> None:
    """Run a read-only server of the Model Context Protocol: check, score, explain rules.

    The server reads requests from standard input, and answers on standard output until the input
    ends.
    Exit status: 0 the input has ended, 2 no such folder.
    """
    from podium.compliance import interrupts
    from podium.compliance.cli.service.commands import Caller
    from podium.compliance.files.optional_imports import needed
    from podium.compliance.judging.plugins.installed import left_out

    if not root.is_dir():
        raise UsageFault(f"{root} is not a folder")
    needed("mcp", "podium serve", "mcp")
    from podium.compliance.cli.service.server import make_server

    server = make_server(Caller(root.resolve(), SERVED, timeout, plugins=not left_out()))
    # A thread that waits for standard input would keep the process alive; children end with it
    interrupts.end_at_once()
    server.run()
