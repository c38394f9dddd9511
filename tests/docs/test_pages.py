"""The files, folders, commands and modules that the pages name exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from podium.compliance.cli.entry import run
from tests.architecture.test_layers import LAYERS
from tests.docs.pages import blocks
from tests.locations import ROOT

DOCS = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs/measurements").glob("*.md")])
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))

PLACE = re.compile(
    r"((?:compliance|rules|logging_spec|reference_runs|tests|docs|src|benchmarks)/[\w./*-]*\w)"
)
"""A path relative to the repository's root. `benchmarks/` can also be in a submission."""

OF_SUBMISSIONS = re.compile(r"benchmarks/(?!\w+\.(?:py|toml)$)")


def inline(page: Path) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        yield from token.children or ()


def made_by(page: Path) -> set[str]:
    """Return the files that a page asks the reader to write, and their folders."""
    if page.parent != ROOT / "docs":
        return set()
    files = {block.path for block in blocks(page.name) if block.path}
    return files | {str(Path(file).parent) for file in files}


def there(place: str) -> bool:
    if "NAME" in place:
        place = place.replace("NAME", "*")
    return any(ROOT.glob(place)) or any(ROOT.glob(f"{place}.py"))


@by_page
def test_a_path_in_the_text_exists(page: Path) -> None:
    named = {
        match[1]
        for token in inline(page)
        if token.type == "code_inline"
        for match in PLACE.finditer(token.content)
        if match.start() == 0
    }
    made = made_by(page)
    wrong = {place for place in named if not OF_SUBMISSIONS.match(place) and not there(place)}
    assert wrong - made == set()


@by_page
def test_a_script_in_a_command_exists(page: Path) -> None:
    scripts = re.findall(r"(?:python|pytest) ([a-z]\S+\.py)", page.read_text(encoding="utf-8"))
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


GROUPS = ("compat", "data", "kernels", "rcp", "results", "rules", "system")
"""Commands with subcommands."""
FIRST = {"profile": ("trainer", "schedule"), "review": ("round", "code")}
"""Commands with a default subcommand, which comes first."""


def called(words: list[str]) -> list[str]:
    """Return the words of a call that name the command."""
    held = FIRST.get(words[0])
    if held is None:
        return words[:2] if words[0] in GROUPS else words[:1]
    return [words[0], words[1] if words[1:] and words[1] in held else held[0]]


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each podium command in a block of the page."""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.info in ("", "console", "sh"):
            text = token.content.replace("\\\n", " ")
            for line in re.findall(r"^(?:\$ )?podium (.+)$", text, flags=re.MULTILINE):
                yield re.split(r" #|   ", line)[0].split()


@cache
def help_of(*command: str) -> str:
    with redirect_stdout(StringIO()) as out:
        assert run([*command, "--help"]) == 0
    return out.getvalue()


@by_page
def test_the_options_in_a_command_exist(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for words in commands(page):
        command = called(words)
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        missing = [o for o in options if not re.search(rf"{o}\b", help_of(*command))]
        assert missing == [], " ".join(words)


@by_page
def test_a_link_points_to_an_existing_file_and_heading(page: Path) -> None:
    links = [str(t.attrs["href"]) for t in inline(page) if t.type == "link_open"]
    own = [link for link in links if "://" not in link]
    assert [link for link in own if not _is_place(link, page)] == []


def test_a_page_is_short() -> None:
    """A page about a task has at most 200 lines, the page on `podium check` 150."""
    lengths = {page.name: len(page.read_text(encoding="utf-8").splitlines()) for page in PAGES}
    assert lengths["usage.md"] <= 150
    assert {name: length for name, length in lengths.items() if length > 200} == {}


def test_the_navigation_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r": ([\w/]+\.md)$", text, flags=re.MULTILINE))
    assert {page.relative_to(ROOT / "docs").as_posix() for page in DOCS} - named == set()


def _is_place(link: str, page: Path) -> bool:
    """Return whether a link names an existing file and, after #, one of its headings."""
    name, _, heading = link.partition("#")
    target = page.parent / name if name else page
    return target.is_file() and (not heading or heading in _headings(target))


def _headings(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@by_page
def test_the_imports_in_the_code_of_a_page_work(page: Path) -> None:
    if page.parent != ROOT / "docs":
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    else:
        code = [block.text for block in blocks(page.name) if block.language == "python"]
    made = {Path(path).with_suffix("").as_posix().replace("/", ".") for path in made_by(page)}
    for node in (node for text in code for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("podium"):
            module = str(node.module)
            if module.removeprefix("podium.") in made:
                continue
            missing = [a.name for a in node.names if not hasattr(import_module(module), a.name)]
            assert missing == [], module


def test_the_architecture_page_lists_the_tested_layers() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| `([a-z._]+)` \|", text, flags=re.MULTILINE)
    shown = [name for name in shown if "/" not in name]
    modules_at_the_top = ("version", "exit_codes", "interrupts", "errors")
    assert shown == [name for name in LAYERS["compliance"] if name not in modules_at_the_top]
    for name in modules_at_the_top:
        assert f"`{name}`" in text
