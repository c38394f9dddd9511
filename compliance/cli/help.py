"""The layout of the help: commands in panels with full summaries, one example per line."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

WIDEST = 100
"""Columns of the help on a wide terminal."""


class PanelGroup(TyperGroup):
    """A group that lists its commands in panels; plain click would cut their summaries."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section for each panel, in order of its first command."""
        panels: dict[str, list[tuple[str, str]]] = {}
        # Over all panels, so that their columns line up
        widest = max(map(len, self.commands))
        for name, command in self.commands.items():
            if not command.hidden:
                rows = panels.setdefault(command.rich_help_panel or "Commands", [])  # type: ignore[attr-defined]
                rows.append((name.ljust(widest), summary(command.help or "")))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class DefaultGroup(PanelGroup):
    """A group whose first command may be called without its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the first command's name unless the line starts with a command or asks for help.

        The line may start with an option of that command, because the group has no options.
        """
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def summary(text: str) -> str:
    """The first paragraph of a help text, on one line."""
    return " ".join(text.partition("\n\n")[0].split())


def group(about: str, kind: type[PanelGroup] = PanelGroup) -> typer.Typer:
    """A command that has subcommands."""
    return typer.Typer(
        cls=kind,
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # rich is slow to load, and its panels cut long words
        pretty_exceptions_enable=False,  # `entry` reports a fault in one line
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
    )


def examples(*lines: str) -> str:
    """An epilog with each example on a separate line: click re-wraps text without the mark."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
