"""The changes of a round since the one before, and the benchmarks that result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from podium.rules.model.benchmark import Amend, Benchmark, RoundError, TableChange, by_name

if TYPE_CHECKING:
    from podium.rules.checks import Check
    from podium.rules.model.limits import Limits
    from podium.rules.model.package_rules import PackageRules


class Delta(TypedDict, total=False):
    """The arguments of `Round.next`; see `Round` for the meaning of each member.

    `retires` names removed benchmarks, `leaves` removed benchmarks whose rules the verifier keeps,
    `introduces` has new ones, and `amends` changes benchmarks by name. `common`, `closed` and
    `open` change those tables. Members that are not named stay unchanged, except the two lists of
    names that are wrong in the verifier, which each round states again, and `published`, which is
    true by default.
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
    previous: Mapping[str, Benchmark], delta: Delta, location: str
) -> dict[str, Benchmark]:
    """The benchmarks of the round that `delta` describes; a renamed one keeps its place."""
    benchmarks = dict(previous)
    for retired in delta.get("retires", ()):
        if benchmarks.pop(retired, None) is None:
            raise RoundError(f"{location} retires {retired}, which does not exist")
    for name, amend in delta.get("amends", {}).items():
        if name not in benchmarks:
            raise RoundError(f"{location} amends {name}, which does not exist")
        amended = amend.apply(benchmarks[name], location)
        benchmarks = by_name(
            amended if key == name else benchmark for key, benchmark in benchmarks.items()
        )
    introduced = delta.get("introduces", ())
    for added in introduced:
        if added.name in benchmarks:
            raise RoundError(f"{location} introduces {added.name}, which exists already")
    return benchmarks | by_name(introduced)
