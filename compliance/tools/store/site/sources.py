"""Links from pages to lines of logs, if the location of the logs is known; otherwise no links."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from podium.compliance.errors import UsageFault

ROUND = "{round}"
"""A placeholder in the address of the source for the round's folder, with which paths begin."""

_UNCHANGED = "/:?#[]@!$&'()*+,;=%{}~-._"


class Source(NamedTuple):
    """The location of the rounds: the beginning of a link, relative to the site's folder.

    With `remote`, it is a web address in which `#L12` refers to a line.
    """

    prefix: str = ""
    remote: bool = False

    def link(self, file: str | None, line: int | None = None, root_path: str = "") -> str:
        """A link to a file of the store from a page in a folder; empty if there is none."""
        parts = (file or "").split("/")
        if not self.prefix or any(part in ("", ".", "..") for part in parts):
            return ""
        name, inner_parts = parts[0], parts[1:]
        prefix = self.prefix
        if ROUND in prefix:
            prefix = prefix.replace(ROUND, quote(name, errors="replace"))
        else:
            inner_parts = parts
        path = "/".join(quote(part, errors="replace") for part in inner_parts)
        anchor = f"#L{line}" if self.remote and line else ""
        # A local path is relative to the site's folder, and pages are in folders of it
        return f"{'' if self.remote else root_path}{prefix.rstrip('/')}/{path}{anchor}"


def source_of(text: str | None, site: Path) -> Source:
    """The location of the rounds from `--source`: a web address or a folder.

    Raises UsageFault for a scheme other than http and https, an address with a password, and a
    folder that does not exist.
    """
    if not text:
        return Source()
    if not text.isprintable():
        raise UsageFault("--source has characters that are not allowed in an address")
    try:
        parsed = urlsplit(text)
        secret = parsed.username or parsed.password
    except ValueError as error:
        raise UsageFault(f"--source {text}: {error}") from None
    if parsed.scheme in ("http", "https") and parsed.netloc:
        if secret:
            raise UsageFault("--source has a user name or password, which pages would show")
        return Source(quote(text, safe=_UNCHANGED), remote=True)
    folder = Path(text.partition(ROUND)[0] or ".")
    if not folder.is_dir():
        raise UsageFault(f"--source {text} is neither an http(s) address nor a folder")
    try:
        relative = os.path.relpath(text, site)
    except ValueError:
        raise UsageFault(f"--source {text} is on another drive than the site") from None
    return Source(quote(Path(relative).as_posix(), safe="/{}", errors="replace"))
