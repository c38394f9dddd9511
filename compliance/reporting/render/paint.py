"""Colors of severities and verdicts, for a terminal."""

from __future__ import annotations

from collections.abc import Callable

Paint = Callable[[str], str]
"""A function that colors a word, or returns it unchanged."""

_STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "waived": "dim",
    "FAIL": "bold red",
    "PASS": "green",
    "REJECTED": "bold red",
    "ACCEPTED": "bold green",
    "rejected": "bold red",
    "accepted": "green",
}


def painter(color: bool) -> Paint:
    """A function that colors the words of a report and leaves others unchanged."""
    if not color:
        return str
    from rich.style import Style

    painted = {word: Style.parse(style).render(word) for word, style in _STYLES.items()}
    return lambda word: painted.get(word, word)


def painted(lines: list[str], word: str, paint: Paint) -> list[str]:
    """The lines with the first `word` in color."""
    # Only after wrapping: color codes would count as columns
    return [lines[0].replace(word, paint(word), 1), *lines[1:]]
