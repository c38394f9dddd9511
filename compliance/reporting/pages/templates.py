"""Templates of pages: what a log or a description says is escaped in all of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from podium.compliance.reporting.page_policy import FOLDER_POLICY
from podium.compliance.text.terminal import clean
from podium.compliance.text.words import plural

if TYPE_CHECKING:
    from jinja2 import Environment

SHARED = "shared"
"""Templates whose name begins so, with a slash, are those that all folders of pages have."""


def asset(package: str, name: str) -> str:
    """The text of a file in the folder `pages` of a package, or of the shared ones."""
    home, folder = (__package__, "") if name.startswith(f"{SHARED}/") else (package, "pages")
    return (files(home) / folder / name).read_text(encoding="utf-8")


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


def short(value: Any, digits: int = 5) -> str:
    """A number of so many digits, with commas where it is whole; a dash for None."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


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
