"""The lock files match the requirements in pyproject.toml and have hashes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locations import ROOT

LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)")
BUILT_FOR_THE_MACHINE = {"torch"}
"""Not locked: the index selects its build for the CPU or for an accelerator."""


def _asked(project: dict[str, dict[str, list[str]]], extra: str | None) -> Iterator[Requirement]:
    extras: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    for line in project["dependencies"] if extra is None else extras[extra]:
        one = Requirement(line)
        if one.name == "podium":
            for inner in one.extras:
                yield from _asked(project, inner)
        else:
            yield one


def _locked(name: str) -> dict[str, tuple[str, str]]:
    """The locked versions, each with the line that follows it."""
    lines = (ROOT / name).read_text().splitlines()
    return {
        canonicalize_name(match["name"]): (match["version"], lines[at + 1].strip())
        for at, line in enumerate(lines)
        if (match := LINE.match(line))
    }


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {
    "requirements-dev.lock": [None, "dev", "release"],
    "requirements.lock": [None],
    "requirements-build.lock": [],
}
"""The lock files, with the extras whose requirements they contain."""


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_every_requirement_with_a_hash(name: str) -> None:
    found = _locked(name)
    asked = [one for extra in LOCKS[name] for one in _asked(PYPROJECT["project"], extra)]
    if not asked:
        asked = [Requirement(line) for line in PYPROJECT["build-system"]["requires"]]
    for one in asked:
        if one.name in BUILT_FOR_THE_MACHINE:
            assert one.name not in found
            continue
        version, hashed = found[canonicalize_name(one.name)]
        assert one.specifier.contains(version, prereleases=True), one
        assert hashed.startswith("--hash=sha256:"), one
    assert all(hashed.startswith("--hash=sha256:") for _, hashed in found.values())


def test_the_locks_have_the_same_versions() -> None:
    whole = _locked("requirements-dev.lock")
    for name in LOCKS:
        found = _locked(name)
        assert {each: found[each] for each in found.keys() & whole.keys()}.items() <= whole.items()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "index-url" not in text
