"""Pages of podium: templates, names of files, and the policy of what a page may load and run.

A page loads its own style and its own script, and nothing else.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from podium.compliance.text.terminal import clean
from podium.compliance.text.words import plural

if TYPE_CHECKING:
    from jinja2 import Environment


FOLDER_POLICY = (
    "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; base-uri 'none'; "
    "form-action 'none'"
)
"""The policy of pages that lie in one folder with their style, scripts and pictures."""


def page_policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with these texts between its tags.

    They are allowed by their hashes: what a log could smuggle in, in spite of all escaping, would
    not run, nor fetch, send or restyle anything.
    """
    own = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; style-src {_hash(style)}; {own}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


SHARED = "shared"
"""Templates whose name begins so, with a slash, are those that all folders of pages have."""


def asset(package: str, name: str) -> str:
    """The text of a file in the folder `pages` of a package, or of the shared ones."""
    home, folder = (__package__, "") if name.startswith(f"{SHARED}/") else (package, "pages")
    return (files(home) / folder / name).read_text(encoding="utf-8")


STYLE = ("shared/base.css", "shared/tables.css", "shared/charts.css")
SCRIPT = ("shared/state.js", "shared/tables.js", "shared/plots.js", "shared/keys.js")
"""The one style and the one script of all pages."""


def joined(package: str, parts: Iterable[str]) -> str:
    """The text of several files, such as `STYLE` and what a package adds to it."""
    return "".join(asset(package, part) for part in parts)


def environment(package: str, filters: Mapping[str, Callable[..., Any]]) -> Environment:
    """Where templates of a package are found; filters beside `short`, `clock` and `plural`."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Every text may come from a hostile log: none is put in unescaped, nor with what steers a
    # terminal or turns the direction of writing
    made = Environment(
        loader=FunctionLoader(partial(asset, package)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    made.globals["policy"] = FOLDER_POLICY
    made.filters.update({"short": short, "clock": clock, "plural": plural, **filters})
    return made


def _final(value: Any) -> Any:
    # What a macro made is escaped already, and says so by its type
    return _lines(value) if type(value) is str else value


def _lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


WHOLE = 1e15
"""Numbers below it have all their digits where they have more than are asked for."""


def short(value: Any, digits: int = 5) -> str:
    """A number of so many digits, with commas where it is whole or large; a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, int) or 10**digits <= abs(value) < WHOLE:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def clock(milliseconds: float | None) -> str:
    """Milliseconds since 1970 as a date and a time of UTC."""
    if milliseconds is None:
        return "-"
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    # Years beyond the calendar of the C library have no date
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds:g} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def brief(number: float) -> str:
    """A number of four digits: 326.4k, 3.264M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"


_NOT_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")
_LONGEST = 48

Key = TypeVar("Key", bound=Hashable)


def plain_name(text: str, longest: int = _LONGEST) -> str:
    """A text as a part of a file's name, anywhere; empty ones become `none`."""
    name = _NOT_PLAIN.sub("_", text).strip("._-")[:longest]
    return name or "none"


def slugs(names: Sequence[str], prefix: str) -> dict[str, str]:
    """A file's name for each name: no two alike, also where capitals are not told apart."""
    return distinct((name, f"{prefix}-{plain_name(name)}") for name in names)


def distinct(wanted: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """The name that each key wants, with a number behind it where an earlier key has it."""
    found: dict[Key, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for key, plain in wanted:
        name, number = plain, counts.get(plain.casefold(), 1)
        while name.casefold() in taken:
            number += 1
            name = f"{plain}_{number}"
        counts[plain.casefold()] = number
        taken.add(name.casefold())
        found[key] = name
    return found
