"""The commands as data, for completion and the manual page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import typer

from podium.compliance.cli.registry import load_commands


def whole(words: Sequence[str] = ()) -> Any:
    """The root command of click, with the command that the words call fully loaded."""
    # Some versions of typer use click, others a copy of it, so they share no type
    return typer.main.get_command(load_commands(words))


def subcommands(command: Any) -> dict[str, Any]:
    """The subcommands that the help of a command lists, by name."""
    commands = getattr(command, "commands", {})
    return {name: subcommand for name, subcommand in commands.items() if not subcommand.hidden}


def options(command: Any) -> Iterator[Any]:
    """The options that the help of a command lists, except --help."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            yield parameter


def arguments(command: Any) -> list[Any]:
    """The arguments of a command in order, without options."""
    return [parameter for parameter in command.params if parameter.param_type_name == "argument"]


def names(option: Any) -> list[str]:
    """Every name of an option, including the names that switch it off."""
    return [*option.opts, *option.secondary_opts]


def takes_value(option: Any) -> bool:
    """Whether a value follows an option's name."""
    return not option.is_flag


def choices(parameter: Any) -> list[str]:
    """The allowed values of a parameter; empty if any value is allowed."""
    kind = parameter.type
    # A parameter type that also accepts other words has choices, too
    values = getattr(kind, "choices", ()) or getattr(getattr(kind, "func", None), "choices", ())
    return [str(getattr(value, "value", value)) for value in values]


def metavar(parameter: Any) -> str:
    """The placeholder of a parameter's value in the help, without punctuation."""
    return (parameter.metavar or "").strip("[].")
