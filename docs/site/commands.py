"""The reference of commands, from the declarations of their help."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from podium.compliance.cli.shell import tree


def page() -> str:
    """Return a section for each command, with its arguments, options and examples."""
    lines = [
        "# Commands",
        "",
        "Exit status: 0 no errors, 1 errors, 2 wrong arguments or nothing to check,",
        "3 an internal error in podium, 130 interrupted. `--help` prints the same text.",
        "",
    ]
    root = tree.whole()
    lines += ["## podium", "", *_parameters(root)]
    for name in tree.subcommands(root):
        lines += _sections((name,), tree.whole([name]).commands[name])
    return "\n".join(lines) + "\n"


def _sections(words: tuple[str, ...], command: Any) -> Iterator[str]:
    held = tree.subcommands(command)
    yield from (f"{'##' if len(words) == 1 else '###'} podium {' '.join(words)}", "")
    if not held:
        taken = "".join(f" {_value(each)}" for each in tree.arguments(command))
        yield from ("```text", f"podium {' '.join(words)} [OPTIONS]{taken}", "```", "")
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        yield from (plain(" ".join(paragraph.split())), "")
    yield from _parameters(command)
    shown = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]
    if shown:
        yield from ("```console", *(f"$ {line}" for line in shown), "```", "")
    for name, one in held.items():
        yield from _sections((*words, name), one)


def _parameters(command: Any) -> Iterator[str]:
    rows = [(_code(_value(each)), each.help or "") for each in tree.arguments(command)]
    for option in tree.options(command):
        names = ", ".join(_code(name) for name in tree.names(option))
        value = f" {_code(_value(option))}" if tree.takes_value(option) else ""
        rows.append((f"{names}{value}", option.help or ""))
    if rows:
        yield from ("| Name | Meaning |", "|---|---|")
        for name, text in rows:
            yield f"| {name} | {plain(' '.join(text.split()))} |"
        yield ""


def _value(parameter: Any) -> str:
    return parameter.metavar or "|".join(tree.choices(parameter)) or parameter.name.upper()


def _code(text: str) -> str:
    """Return code for a table cell. Backticks would show the backslash that escapes a bar."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def plain(text: str) -> str:
    """Escape markup in a help text."""
    return re.sub(r"([\\`*_\[\]|])", r"\\\1", html.escape(text, quote=False))
