"""No text of the project contains a word that docs/style.md avoids."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import PACKAGES, ROOT

AVOIDED = re.compile(
    r"\b(told|beside|anew|mend(s|ed|ing)?|(lie|lies|lay) in|(is|are|was|were) no"
    r"|of (its|their) own|whoever|nobody|(goes|go|going|went) on|com(es?|ing) to nothing|in force"
    r"|seldom)\b"
    # "is no longer" and "is no more than" are plain English
    r"(?! (longer|more|less|later|earlier|larger|smaller|higher|lower|greater|different)\b)",
    re.IGNORECASE,
)
FOLDERS = (*PACKAGES, "docs", "benchmarks", ".ci")
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "pyproject.toml",
    "mkdocs.yml",
)
SUFFIXES = {".py", ".md", ".j2", ".js", ".css", ".toml", ".yml", ".yaml", ".json"}
LISTED = "docs/style.md"
"""The page that lists the words."""
STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
TESTS = ROOT / "tests"


def _prose(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and strings of a module, or all lines of another file, with line numbers.

    Of tests, the names, comments and docstrings: their other strings are data.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    in_tests = path.is_relative_to(TESTS)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if in_tests and token.type == tokenize.NAME and token.string.startswith("test_"):
            yield token.start[0], token.string.replace("_", " ")
        elif token.type == tokenize.COMMENT or (
            token.string.startswith('"""') if in_tests else token.type in STRINGS
        ):
            yield from enumerate(token.string.splitlines(), token.start[0])


def _files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in SUFFIXES)
    yield from sorted(TESTS.rglob("*.py"))
    yield from (ROOT / page for page in PAGES if (ROOT / page).exists())


def test_no_text_has_an_avoided_word() -> None:
    avoided = [
        f"{path.relative_to(ROOT)}:{line}: {word[0]}"
        for path in _files()
        if path != ROOT / LISTED
        for line, prose in _prose(path)
        for word in AVOIDED.finditer(prose)
    ]
    assert not avoided, f"{len(avoided)} words to replace, see {LISTED}:\n" + "\n".join(avoided)
