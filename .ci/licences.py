"""Check the licenses of podium's dependencies, with every extra, against those in pyproject.toml.

python .ci/licences.py     # a line for each unaccepted license, and exit status 1

Installed packages are checked, starting from podium's own requirements. A license is read from the
package's SPDX expression, else from its classifiers, else from its license field, whose words
pyproject.toml translates; packages that state none are listed there with their license.
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
    """Name and installed distribution of all dependencies of a package with extras, once each."""
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
    """The license of a package as an SPDX expression; empty if it states none."""
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
    """Whether accepted licenses satisfy an SPDX expression; unknown words are not accepted."""
    # A license with an exception is listed under that name, not as its two halves
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
    return get_spdx_licensing()  # reads every known license


def problems(rules: Mapping[str, Any], extras: frozenset[str]) -> Iterator[str]:
    """A line for each package whose license is not accepted, unknown, or not installed."""
    for name, found in needed("podium", extras):
        if found is None:
            yield f"{name}: not installed, so its license is unknown"
            continue
        licence = stated(found, rules["words"], rules["packages"])
        if not accepts(licence, rules["accepted"]):
            yield f"{name} {found.version}: {licence or 'states no license'}"


def main() -> int:
    """Print the problems; 1 if there are any."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    # The tools of `make release` are only installed by it, and no other target needs them
    extras = frozenset({*project["project"]["optional-dependencies"]} - {"release"})
    rules = project["tool"]["podium"]["licences"]
    found = [*problems(rules, extras)]
    for line in found:
        print(f"license not accepted: {line}")
    if not found:
        print(f"licenses: all {len([*needed('podium', extras)])} packages have accepted ones")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
