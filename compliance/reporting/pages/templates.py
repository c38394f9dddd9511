"""HTML pages: templates, file names, and the policy for what a page may load and run.

A page loads only its style and its script.
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
"""The policy of pages that are in one folder with their style, scripts and pictures."""


def page_policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with these texts between its tags.

    They are allowed by their hashes: even if content of a log got past the escaping, it could not
    run, fetch, send or restyle anything.
    """
    script_policy = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {script_policy}"
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


SHARED = "shared"
"""The prefix of the templates that all folders of pages share."""


def asset(package: str, name: str) -> str:
    """The text of a file in the folder `pages` of a package, or of a shared file."""
    home, folder = (__package__, "") if name.startswith(f"{SHARED}/") else (package, "pages")
    return (files(home) / folder / name).read_text(encoding="utf-8")


STYLE = ("shared/base.css", "shared/tables.css", "shared/charts.css")
SCRIPT = ("shared/state.js", "shared/tables.js", "shared/plots.js", "shared/keys.js")
"""The one style and the one script of all pages."""


def joined(package: str, parts: Iterable[str]) -> str:
    """The text of several files, such as `STYLE` and the additions of a package."""
    return "".join(asset(package, part) for part in parts)


def environment(package: str, filters: Mapping[str, Callable[..., Any]]) -> Environment:
    """The templates of a package; `filters` are added to `short`, `clock` and `plural`."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Every text may come from a hostile log, so all are escaped, and characters that control a
    # terminal or change the direction of text are removed
    env = Environment(
        loader=FunctionLoader(partial(asset, package)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    env.globals["policy"] = FOLDER_POLICY
    env.filters.update({"short": short, "clock": clock, "plural": plural, **filters})
    return env


def _final(value: Any) -> Any:
    # The output of a macro is already escaped, as its type shows
    return _lines(value) if type(value) is str else value


def _lines(text: str) -> str:
    return "\n".join(map(clean, text.split("\n")))


WHOLE = 1e15
"""Whole numbers below it keep all their digits."""


def short(value: Any, digits: int = 5) -> str:
    """A number with `digits` digits, with commas if it is whole or large; a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, int) or 10**digits <= abs(value) < WHOLE:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def clock(milliseconds: float | None) -> str:
    """Milliseconds since 1970 as date and time in UTC."""
    if milliseconds is None:
        return "-"
    try:
        moment = datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    # The C library has no date for distant years
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds:g} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def brief(number: float) -> str:
    """A number with four digits: 326.4k, 3.264M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.4g}{letter}"
    return f"{number:.4g}"


_NOT_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")
_LONGEST = 48

Key = TypeVar("Key", bound=Hashable)


def plain_name(text: str, longest: int = _LONGEST) -> str:
    """A string as a part of a file name on any system; an empty string becomes `none`."""
    name = _NOT_PLAIN.sub("_", text).strip("._-")[:longest]
    return name or "none"


def slugs(names: Sequence[str], prefix: str) -> dict[str, str]:
    """A distinct file name for each name, also on file systems that ignore case."""
    return distinct((name, f"{prefix}-{plain_name(name)}") for name in names)


def distinct(names: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """The wanted name of each key, with a number appended if an earlier key has it."""
    distinct_names: dict[Key, str] = {}
    used_names: set[str] = set()
    counts: dict[str, int] = {}
    for key, base_name in names:
        name, number = base_name, counts.get(base_name.casefold(), 1)
        while name.casefold() in used_names:
            number += 1
            name = f"{base_name}_{number}"
        counts[base_name.casefold()] = number
        used_names.add(name.casefold())
        distinct_names[key] = name
    return distinct_names
