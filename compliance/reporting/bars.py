"""Bars for a terminal: one line for each number, with its label and its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from podium.compliance.text.terminal import clean


class Bar(NamedTuple):
    """One line; `group` is its heading."""

    group: str
    label: str
    value: float
    text: str


def bars(lines: Sequence[Bar], width: int) -> str:
    """The lines as text of `width` columns; bars of one group have one scale."""
    from io import StringIO

    from rich.bar import Bar as Drawn
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    output = StringIO()
    console = Console(file=output, width=width, color_system=None, legacy_windows=False)
    groups: dict[str, list[Bar]] = {}
    for line in lines:
        groups.setdefault(line.group, []).append(line)
    for name, group in groups.items():
        maximum = max(line.value for line in group) or 1.0
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(8, width // 3))
        table.add_column(ratio=1)
        table.add_column(no_wrap=True, justify="right")
        for line in group:
            drawn_bar = Drawn(maximum, 0, line.value)
            table.add_row(Text(clean(line.label)), drawn_bar, Text(clean(line.text)))
        console.print(Text(clean(name)))
        console.print(table)
        console.print()
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()).strip("\n") + "\n"
