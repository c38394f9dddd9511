"""Licences of what podium needs, with every extra: each must be one that pyproject.toml accepts.

python .ci/licences.py     # a line for each that is not, and exit status 1

What is judged is what is installed here, found from podium's own requirements on. A licence comes
from the package's SPDX expression, else from its classifiers, else from its licence field, whose
words pyproject.toml translates; packages that state none are named there with theirs.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, Licensing, get_spdx_licensing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def needed(name: str, extras: frozenset[str]) -> Iterator[tuple[str, Distribution | None]]:
    """(name, what is installed of it) of all that a package needs with some extras, once each."""
    waiting, seen = [(name, extras)], {(canonicalize_name(name), extras)}
    found = {canonicalize_name(name)}
    while waiting:
        name, extras = waiting.pop()
        try:
            for text in distribution(name).requires or ():
                wanted = Requirement(text)
                if not any(_holds(wanted, extra) for extra in (extras or {""})):
                    continue
                key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
                if key not in seen:
                    seen.add(key)
                    waiting.append(key)
                    if key[0] not in found:
                        found.add(key[0])
                        yield wanted.name, _installed(wanted.name)
        except PackageNotFoundError:
            continue


def _holds(wanted: Requirement, extra: str) -> bool:
    return wanted.marker is None or wanted.marker.evaluate({"extra": extra})


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def stated(found: Distribution, words: Mapping[str, str], known: Mapping[str, str]) -> str:
    """The licence of a package as an SPDX expression; empty where nobody states one."""
    about = found.metadata
    if name := known.get(canonicalize_name(about["Name"])):
        return name
    if expression := about.get("License-Expression"):
        return expression
    classes = [
        text.rpartition(" :: ")[2]
        for text in about.get_all("Classifier") or ()
        if text.startswith("License :: ")
    ]
    field = (about.get("License") or "").strip()
    texts = classes or ([field] if field else [])
    return " AND ".join(f"({words.get(text, text)})" for text in texts)


def accepts(expression: str, accepted: Mapping[str, str]) -> bool:
    """Whether an SPDX expression is satisfied by accepted licences; an unknown word is none."""
    # A licence with an exception is one that the list names so, not its two halves
    spdx = _spdx()
    try:
        terms = spdx.parse(expression, strict=True)
    except ExpressionError:
        return False
    if terms is None:
        return False
    known = {each: spdx.TRUE if str(each) in accepted else spdx.FALSE for each in terms.literals}
    return bool(terms.subs(known).simplify() == spdx.TRUE)


@cache
def _spdx() -> Licensing:
    return get_spdx_licensing()  # reads every known licence


def problems(rules: Mapping[str, Any], extras: frozenset[str]) -> Iterator[str]:
    """A line for each package whose licence is not accepted, unknown, or cannot be looked up."""
    for name, found in needed("podium", extras):
        if found is None:
            yield f"{name}: not installed here, so its licence cannot be looked up"
            continue
        licence = stated(found, rules["words"], rules["packages"])
        if not accepts(licence, rules["accepted"]):
            yield f"{name} {found.version}: {licence or 'states no licence'}"


def main() -> int:
    """Print what is not accepted; 1 if there is any."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # The tools of `make release` are installed by it alone, and nothing needs them afterwards
    extras = frozenset({*project["project"]["optional-dependencies"]} - {"release"})
    rules = project["tool"]["podium"]["licences"]
    found = [*problems(rules, extras)]
    for line in found:
        print(f"licence not accepted: {line}")
    if not found:
        print(f"licences: all {len([*needed('podium', extras)])} packages have accepted ones")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
