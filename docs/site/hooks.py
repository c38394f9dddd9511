"""Pages of the site from outside `docs/`: from elsewhere in the repository, or generated from code.

mkdocs calls the functions whose names begin with `on_`.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT), str(Path(__file__).parent)]

import commands  # noqa: E402 - found by the path set above
import python  # noqa: E402
import tables  # noqa: E402

ELSEWHERE = {
    "README.md": "index.md",
    **{name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")},
    **{
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "rules/pages").rglob("*.md"))
    },
}
"""Path in the repository → path on the site."""

MADE = {"commands.md": commands.page, "python.md": python.page, "results_tables.md": tables.page}
"""Pages that are generated from code."""

SHIM = re.compile(r"https://[^\"'\s]+/iframe-worker/shim")
"""The script that the theme loads to search from file://. `worker.js` replaces it."""

_LINK = re.compile(r"(\]\()([^)#:\s]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside `docs/`."""
    for source, name in ELSEWHERE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for name, page in MADE.items():
        files.append(File.generated(config, name, content=page()))
    script = (Path(__file__).parent / "worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, "assets/worker.js", content=script))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Change links between files of the repository to links between pages of the site."""
    name = page.file.src_uri
    source = {where: path for path, where in ELSEWHERE.items()}.get(name, f"docs/{name}")

    def to_site(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        where = ELSEWHERE.get(path) or path.removeprefix("docs/")
        link = posixpath.relpath(where, posixpath.dirname(name) or ".")
        return f"{match[1]}{link}{match[3] or ''}{match[4]}"

    # This Markdown has no backslash escape before an angle bracket
    return _LINK.sub(to_site, markdown).replace("\\<", "&lt;")


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Replace the theme's script for the search, so that a page loads nothing from elsewhere."""
    here = posixpath.dirname(page.file.dest_uri) or "."
    return SHIM.sub(posixpath.relpath("assets/worker.js", here), output)


def on_post_template(output: str, **_: object) -> str:
    """Replace the script in the page for missing addresses, which is at the top of the site."""
    return SHIM.sub("assets/worker.js", output)
