"""`podium man`: the manual page, made from the declarations of the help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from podium.compliance.cli.help import examples
from podium.compliance.cli.shell import tree
from podium.compliance.version import VERSION

EXAMPLES = examples("podium man > podium.1", "podium man | man -l -")

_STATUSES = {
    "0": "No errors; warnings are allowed.",
    "1": "At least one error, or with --strict at least one warning.",
    "2": "Bad arguments, nothing to check, or an output that cannot be written.",
    "3": "A fault in podium itself.",
    "130": "Interrupted.",
}
_VARIABLES = {
    "NO_COLOR": "If not empty, output has no colors.",
    "FORCE_COLOR": "If neither empty nor 0, output to pipes has colors, too. Also CLICOLOR_FORCE.",
    "CLICOLOR": "If 0, output has no colors.",
    "COLUMNS": "The output width, up to 120 columns.",
    "PODIUM_CACHE_DIR": "The folder of podium check --cache; default the user's cache folder.",
    "GITHUB_ACTIONS": "If true, reports are annotations unless --format names another format.",
}
_FILES = {
    "podium.toml": "In or above a path: usage, round, and the files that podium pack assembles.",
    "waivers.toml": "Waivers that were granted in review.",
}


def man() -> None:
    """Print the manual page of podium, for man."""
    from podium.compliance.reporting.console import print_text

    print_text(page())


def page() -> str:
    """The manual page in troff, with the macros of man(7)."""
    root = tree.whole()
    lines = [
        f'.TH PODIUM 1 "" "podium {VERSION}" "User Commands"',
        *(".SH NAME", f"podium \\- {_text(_first_lower(root.help))}"),
        *(".SH SYNOPSIS", "\\fBpodium\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"),
        *(".SH OPTIONS", *_options(root)),
        ".SH COMMANDS",
    ]
    for name in tree.subcommands(root):
        lines += _sections((name,), tree.whole([name]).commands[name])
    for title, entries in (
        ("EXIT STATUS", _STATUSES),
        ("ENVIRONMENT", _VARIABLES),
        ("FILES", _FILES),
    ):
        lines.append(f".SH {title}")
        for term, text in entries.items():
            lines += [".TP", f"\\fB{_text(term)}\\fR", _text(text)]
    return "\n".join(lines) + "\n"


def _sections(words: tuple[str, ...], command: Any) -> Iterator[str]:
    """A command with its arguments, options and examples, then its subcommands."""
    subcommands = tree.subcommands(command)
    yield f'.SS "podium {" ".join(words)}"'
    if not subcommands:
        arguments = " ".join(
            f"\\fI{_text(_value(parameter))}\\fR" for parameter in tree.arguments(command)
        )
        yield f"\\fBpodium {' '.join(words)}\\fR [\\fIOPTIONS\\fR] {arguments}".rstrip()
        yield ".PP"
    yield from _paragraphs(command.help or "")
    for parameter in tree.arguments(command):
        yield from (".TP", f"\\fI{_text(_value(parameter))}\\fR", _text(parameter.help or ""))
    yield from _options(command)
    yield from _examples(command.epilog or "")
    for name, subcommand in subcommands.items():
        yield from _sections((*words, name), subcommand)


def _options(command: Any) -> Iterator[str]:
    for option in tree.options(command):
        value = f" \\fI{_text(_value(option))}\\fR" if tree.takes_value(option) else ""
        yield ".TP"
        yield ", ".join(f"\\fB{_text(name)}\\fR" for name in tree.names(option)) + value
        yield _text(f"{option.help or ''}{_default(option)}")


def _value(parameter: Any) -> str:
    return parameter.metavar or "|".join(tree.choices(parameter)) or parameter.name.upper()


def _default(option: Any) -> str:
    default = option.default
    # The name of a flag implies its default; a computed default has no text
    if not tree.takes_value(option) or default in (None, "", ()) or callable(default):
        return ""
    return f" Default: {getattr(default, 'value', default)}."


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))


def _examples(epilog: str) -> Iterator[str]:
    lines = [line.strip() for line in epilog.splitlines() if line.startswith("  ")]
    if lines:
        yield from (".PP", "Examples:", ".PP", ".nf", ".RS 4", *map(_text, lines), ".RE", ".fi")


def _first_lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:].rstrip('.')}"


def _text(text: str) -> str:
    """Text escaped for troff: hyphens can be copied, and no line is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text
