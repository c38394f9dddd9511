"""The code of a page of `docs/`, as a reader would take it over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.locations import ROOT

_NAMED = re.compile(r"`([\w./-]+\.\w+)`:$")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, and the file that the line before it names."""

    language: str
    text: str
    path: str = ""

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Each command of a console, and the lines that it must print, in their order."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, [line for line in shown if line != "…"]

    def change(self) -> tuple[str, str]:
        """The text before and after a difference."""
        lines = self.text.splitlines()
        before = [line[1:] for line in lines if line[0] in " -"]
        after = [line[1:] for line in lines if line[0] in " +"]
        return "\n".join(before), "\n".join(after)


def blocks(name: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    tokens = MarkdownIt("commonmark").parse((ROOT / "docs" / name).read_text(encoding="utf-8"))
    found, before = [], ""
    for token in tokens:
        if token.type == "inline":
            before = token.content
        elif token.type == "fence":
            named = _NAMED.search(before)
            found.append(Block(token.info, token.content, named[1] if named else ""))
            before = ""
    return found


def apply(block: Block, root: Path) -> None:
    """Write a file that is shown whole, or change one as a difference says."""
    path = root / block.path
    if block.language != "diff":
        assert not path.exists(), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    before, after = block.change()
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{block.path} must hold {before!r} once"
    path.write_text(text.replace(before, after), encoding="utf-8")
