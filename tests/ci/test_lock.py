"""What `make setup LOCKED=1` installs is what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locations import ROOT

LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)")
BUILT_FOR_THE_MACHINE = {"torch"}
"""Not locked: its builds for processors and for each accelerator are told apart by the index."""


def _asked(project: dict[str, dict[str, list[str]]], extra: str | None) -> Iterator[Requirement]:
    extras: dict[str, list[str]] = project["optional-dependencies"]  # type: ignore[assignment]
    for line in project["dependencies"] if extra is None else extras[extra]:
        one = Requirement(line)
        if one.name == "podium":
            for inner in one.extras:
                yield from _asked(project, inner)
        else:
            yield one


def test_the_lock_has_all_that_developers_need_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    found = {
        canonicalize_name(match["name"]): (match["version"], lines[at + 1].strip())
        for at, line in enumerate(lines)
        if (match := LINE.match(line))
    }
    asked = [*_asked(project, None), *_asked(project, "dev")]
    assert len(asked) > 40
    for one in asked:
        if one.name in BUILT_FOR_THE_MACHINE:
            assert one.name not in found
            continue
        version, hashed = found[canonicalize_name(one.name)]
        assert one.specifier.contains(version, prereleases=True), one
        assert hashed.startswith("--hash=sha256:"), one


def test_the_lock_names_no_index() -> None:
    text = (ROOT / "requirements-dev.lock").read_text()
    assert "://" not in text
    assert "index-url" not in text
