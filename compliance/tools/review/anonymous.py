"""Names of submitters and systems replaced, the same name by the same word everywhere."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from podium.compliance.reporting.pages.templates import plain_name
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.model import Review
from podium.compliance.tools.review.records import Manifest

LEAST = 2
"""Letters of a name that is looked for in texts; a shorter one is replaced in paths alone."""


def anonymised(review: Review, files: Manifest, material: Material) -> tuple[Review, Manifest]:
    """The review without the names of submitters and systems, in texts and paths alike.

    The names of accelerators, frameworks and settings stay: they are what is compared.
    """
    replace = _replacer(_names(material))
    plain = _mapped(msgspec.to_builtins(review), replace)
    hidden = msgspec.convert(plain, Review, strict=False)
    hidden = msgspec.structs.replace(hidden, anonymous=True)
    return hidden, {replace(path): found for path, found in files.items()}


def _names(material: Material) -> dict[str, str]:
    """The word for each name; what else logs and descriptions call one has the same word."""
    own = [material.results, *(each.results for each in material.earlier)]
    submitters: dict[str, set[str]] = {home.submitter: set() for home in material.homes}
    systems: dict[str, set[str]] = {}
    for result in (each for results in own for each in results):
        place, described = result.place, result.description
        called = submitters.setdefault(place.submitter, set())
        called |= {run.facts.org or "" for run in result.runs}
        # Two submitters may have a system of one name, which no text tells apart
        ones = systems.setdefault(place.system, set())
        ones |= {run.facts.platform or "" for run in result.runs}
        if described is not None:
            called.add(described.submitter)
            ones.add(described.system_name)
    words = _words(submitters, "submitter-{:02}")
    words = _words(systems, "system-{:03}") | words
    return {plain_name(name): word for name, word in words.items()} | words


def _words(called: Mapping[str, set[str]], form: str) -> dict[str, str]:
    numbers = _numbered(name for name in called if name)
    words = {name: form.format(number) for name, number in numbers.items()}
    # A name of one's own goes before what others call theirs
    for name in numbers:
        for other in sorted(called[name] - {""}):
            words.setdefault(other, words[name])
    return words


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """A number for each name; an order by the alphabet would tell who is who."""
    ordered = sorted(
        names, key=lambda name: hashlib.blake2b(name.encode("utf-8", "replace")).digest()
    )
    return {name: number for number, name in enumerate(ordered, 1)}


def _replacer(words: Mapping[str, str]) -> Callable[[str], str]:
    known = {name.casefold(): word for name, word in words.items()}
    # A name of digits alone, as that of a system, would take every number with it
    telling = [name for name in words if sum(map(str.isalpha, name)) >= LEAST]
    listed = "|".join(map(re.escape, sorted(telling, key=len, reverse=True)))
    named = re.compile(rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])", re.IGNORECASE)

    def replace(text: str) -> str:
        if "/" in text:
            text = "/".join(known.get(part.casefold(), part) for part in text.split("/"))
        return named.sub(lambda match: known[match[0].casefold()], text) if listed else text

    return replace


def _mapped(value: Any, replace: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, dict):
        return {key: _mapped(member, replace) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(member, replace) for member in value]
    return value
