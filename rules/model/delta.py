"""What a round may change of the one before, and how its benchmarks come about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from podium.rules.model.benchmark import Amend, Benchmark, RoundError, TableChange, by_name

if TYPE_CHECKING:
    from podium.rules.checks import Check
    from podium.rules.model.limits import Limits
    from podium.rules.model.package_rules import PackageRules


class Delta(TypedDict, total=False):
    """What `Round.next` takes; see `Round` for what each member means.

    `retires` names benchmarks that go, `leaves` those that go though the verifier keeps their
    rules, `introduces` brings new ones, `amends` changes some by name. `common`, `closed` and
    `open` change those tables. What is not named stays, but for the two lists of names that the
    verifier has wrong, which each round states anew, and `published`, which is true unless it says
    otherwise.
    """

    retires: tuple[str, ...]
    leaves: tuple[str, ...]
    introduces: tuple[Benchmark, ...]
    amends: Mapping[str, Amend]
    common: TableChange
    closed: TableChange
    open: TableChange
    limits: Limits
    package: PackageRules
    checks: tuple[Check, ...]
    names_in: tuple[str, ...]
    verified: bool
    published: bool
    verifier_in_force: bool
    listed_without_rules: tuple[str, ...]
    omitted_from_open_list: tuple[str, ...]


TABLES: tuple[Literal["common", "closed", "open"], ...] = ("common", "closed", "open")
INHERITED: tuple[
    Literal["limits", "package", "checks", "names_in", "verified", "verifier_in_force"], ...
] = (
    "limits",
    "package",
    "checks",
    "names_in",
    "verified",
    "verifier_in_force",
)


def next_benchmarks(
    before: Mapping[str, Benchmark], delta: Delta, where: str
) -> dict[str, Benchmark]:
    """The benchmarks of the round that `delta` makes; a renamed one keeps its place."""
    benchmarks = dict(before)
    for retired in delta.get("retires", ()):
        if benchmarks.pop(retired, None) is None:
            raise RoundError(f"{where} retires {retired}, which is not there")
    for name, amend in delta.get("amends", {}).items():
        if name not in benchmarks:
            raise RoundError(f"{where} amends {name}, which is not there")
        amended = amend.apply(benchmarks[name], where)
        benchmarks = by_name(amended if old == name else kept for old, kept in benchmarks.items())
    introduced = delta.get("introduces", ())
    for added in introduced:
        if added.name in benchmarks:
            raise RoundError(f"{where} introduces {added.name}, which is there")
    return benchmarks | by_name(introduced)
