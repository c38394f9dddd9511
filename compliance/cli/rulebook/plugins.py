"""`podium plugins`: list the plug-ins of other distributions."""

from __future__ import annotations

import typer

from podium.compliance.cli.help import examples
from podium.compliance.cli.options import AnswerFormat, AnswerFormatOption
from podium.compliance.exit_codes import Exit

EXAMPLES = examples("podium plugins", "podium plugins --format json")


def plugins(
    format: AnswerFormatOption = AnswerFormat.TEXT,  # noqa: A002 - the option's name
) -> None:
    """List the installed plug-ins: what each adds, and whether it can be loaded.

    Exit status: 1 if a plug-in cannot be loaded.
    """
    from podium.compliance.rulebook.plugin_list import list_plugins

    raise typer.Exit(Exit.CLEAN if list_plugins(format.value) else Exit.FOUND)
