"""Pages as tests read them: with a parser, and with a headless browser."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.locations import ASKED

POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)


class Reader(HTMLParser):
    """The elements, links, identifiers and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value))
            if name in ("href", "src"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def dead_links(folder: Path, outside: str = "") -> list[tuple[str, str]]:
    """Return (page, link) for every link in the folder's pages without a target in the folder.

    Links that begin with `outside` may leave the folder. A fragment is the identifier of an
    element, unless it contains an equals sign: then it is a filter.
    """
    pages = {page: Reader(page) for page in sorted(folder.rglob("*.html"))}
    root, found = folder.resolve(), []
    for page, read in pages.items():
        for link in read.links:
            if outside and link.startswith(outside):
                continue
            file, fragment = urldefrag(unquote(link))
            target = (page.parent / file if file else page).resolve()
            there = target.is_file() and target.is_relative_to(root) and ":" not in link
            if there and fragment and "=" not in fragment:
                there = fragment in pages[folder / target.relative_to(root)].ids
            if not there:
                found.append((page.name, link))
    return found


def chromium() -> str:
    """The browser; tests fail without a browser if PODIUM_CORPUS is set, and skip otherwise."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        (pytest.fail if ASKED else pytest.skip)("chromium is not here")
    return found


def seen(
    folder: Path, name: str, place: Path, script: str, act: str = "", *more: str, at: str = ""
) -> tuple[str, str]:
    """Return a page after a test's script ran in a browser, and the messages of the console.

    The folder is copied to `place`, and the test's script `act` is appended to the page's `script`,
    which the policy of the page allows. `more` are options of the browser, `at` is a suffix of the
    page's address.
    """
    copied = place / "pages"
    shutil.copytree(folder, copied, dirs_exist_ok=True)
    own = copied / script
    own.write_text(own.read_text(encoding="utf-8") + act, encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place}/profile")
    done = subprocess.run(
        [
            *(chromium(), *flags, *more, "--virtual-time-budget=2000", "--enable-logging=stderr"),
            *("--dump-dom", (copied / name).as_uri() + at),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, "\n".join(console_lines(done.stderr))


def console_lines(said: str) -> list[str]:
    """The messages on the console from a page, and from the browser about the page.

    Without a network, the browser warns about the fonts of its built-in pages; this is omitted.
    """
    lines = [line for line in said.splitlines() if "CONSOLE" in line]
    return [line for line in lines if "Slow network is detected" not in line]
