"""The commands as data: what completion and the manual page read of their declarations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import typer

from podium.compliance.cli.registry import load_commands


def whole(words: Sequence[str] = ()) -> Any:
    """The root command as click has it, with all of the command that the words call."""
    # Some versions of typer use click, others a copy of it: what they have in common has no type
    return typer.main.get_command(load_commands(words))


def subcommands(command: Any) -> dict[str, Any]:
    """The commands that a command holds and its help lists, by name."""
    held = getattr(command, "commands", {})
    return {name: one for name, one in held.items() if not one.hidden}


def options(command: Any) -> Iterator[Any]:
    """The options that a command's help lists; that of the help itself is not among them."""
    for each in command.params:
        if each.param_type_name == "option" and not each.hidden:
            yield each


def arguments(command: Any) -> list[Any]:
    """What a command takes besides options, in order."""
    return [each for each in command.params if each.param_type_name == "argument"]


def names(option: Any) -> list[str]:
    """Every name of an option, those that switch it off included."""
    return [*option.opts, *option.secondary_opts]


def takes_value(option: Any) -> bool:
    """Whether a value follows an option's name."""
    return not option.is_flag


def choices(parameter: Any) -> list[str]:
    """The words that a parameter's value is one of; none where it is free."""
    kind = parameter.type
    # A function that takes other words beside them has them, too
    given = getattr(kind, "choices", ()) or getattr(getattr(kind, "func", None), "choices", ())
    return [str(getattr(each, "value", each)) for each in given]


def metavar(parameter: Any) -> str:
    """What stands for a parameter's value in the help: the kind of value, not the punctuation."""
    return (parameter.metavar or "").strip("[].")
