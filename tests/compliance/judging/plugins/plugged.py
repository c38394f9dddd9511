"""Plug-ins for one test: the metadata of a distribution and its module, in a folder."""

from __future__ import annotations

import textwrap
from pathlib import Path

RULE = """
from podium.rules.checks import check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.finding import Severity
from podium.rules.table import Violation


@check(
    "seed.odd",
    key="seed",
    says="a seed is even",
    cites="Acme handbook, Seeds",
    severity=Severity.ERROR,
    bad=excerpt(at(0, "seed", 41)),
    good=excerpt(at(0, "seed", 42)),
)
def odd_seed(run, _):
    '''Odd seeds are kept for tests.'''
    for index in run.where.get("seed", ()):
        value = run.records[index].value
        if isinstance(value, int) and value % 2:
            yield Violation(index, f"seed is {value}; must be even", hint="add one")


RULES = (odd_seed,)
"""
"""A plug-in module without errors."""


def with_body(body: str) -> str:
    """Return a module with one check that has this body."""
    _, _, rest = RULE.partition("    for index in")
    head = RULE[: -len(rest) - len("    for index in")]
    return (
        f"{head}{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n\n\nRULES = (odd_seed,)\n"
    )


def plug_in(
    folder: Path,
    code: str = RULE,
    *,
    name: str = "acme",
    distribution: str = "",
    group: str = "podium.rules",
    entry: str = "",
) -> Path:
    """Install a plug-in into a folder, as installers do, and return the folder."""
    module = f"{name.replace('-', '_')}_rules"
    distribution = distribution or f"podium-{name}"
    home = folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
    home.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(code)
    (home / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
    entries = f"[{group}]\n{name} = {entry or module}\n"
    (home / "entry_points.txt").write_text(entries)
    return folder
