"""How every command that holds commands is set up."""

from __future__ import annotations

import typer


def group(about: str) -> typer.Typer:
    """A command that holds commands."""
    return typer.Typer(
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
