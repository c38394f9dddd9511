"""`podium rcp show`: the points of a benchmark, their use, and their curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from podium.compliance.judging.results.convergence import references
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.rcp.plots import chart, curve_of
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.numbers import figure
from podium.compliance.tools.scoring.render.table import table
from podium.rules.finding import Profile

if TYPE_CHECKING:
    from podium.rules.convergence.data import Point
    from podium.rules.convergence.method import Reference, References
    from podium.rules.model.round import Round

SCHEMA = "podium.rcp-points/1"


def show(rules: Round, benchmark: str, points: Sequence[Point], name: str, width: int) -> str:
    """The points as text or JSON."""
    # Always both: for example, llama2_70b_lora and dlrm_dcnv2 are pruned differently
    ways = {
        profile: references(profile, rules, benchmark, points)
        for profile in (Profile.POLICY, Profile.VERIFIER)
    }
    if name == "json":
        return _as_json(rules, benchmark, points, ways)
    return _as_text(rules, benchmark, points, ways, width)


def _rows(
    points: Sequence[Point], ways: dict[Profile, References]
) -> list[tuple[Point, Reference, Reference, bool, bool]]:
    """(point, policy, verifier, used by the policy, used by the verifier) by batch size."""
    policy_points, verifier_points = ways[Profile.POLICY], ways[Profile.VERIFIER]
    by_id = {profile: {r.ids[0]: r for r in way.every} for profile, way in ways.items()}
    rows = []
    for point in sorted(points, key=lambda item: item.batch_size):
        policy = by_id[Profile.POLICY].get(point.id)
        verifier = by_id[Profile.VERIFIER].get(point.id)
        # A point with too few values to drop any is not a reference; lint reports it
        if policy is not None and verifier is not None:
            rows.append(
                (
                    point,
                    policy,
                    verifier,
                    policy in policy_points.used,
                    verifier in verifier_points.used,
                )
            )
    return rows


def _as_text(
    rules: Round,
    benchmark: str,
    points: Sequence[Point],
    ways: dict[Profile, References],
    width: int,
) -> str:
    unit = rules.benchmark(benchmark).convergence.unit
    title = f"{benchmark} in {rules.title}: {len(points)} reference convergence points, in {unit}"
    lines = [*wrap(clean(title), width), ""]
    if not points:
        return "\n".join([*lines[:1], "The convergence of a closed result cannot be tested.", ""])
    heads = ("batch size", "runs", "mean", "deviation", "minimum", "speedup", "used by")
    rows = [
        (
            numbers.count(point.batch_size),
            str(len(point.to_converge)),
            figure(policy.mean),
            figure(policy.deviation),
            figure(policy.minimum),
            f"{policy.maximum_speedup - 1:.2%}",
            _users(by_policy, by_verifier),
        )
        for point, policy, _, by_policy, by_verifier in _rows(points, ways)
    ]
    lines += table(heads, rows, width, left=(6,))
    lines += [
        "",
        *wrap(
            "minimum: the lowest accepted mean of a result; speedup: how much sooner a result may "
            "converge. Both follow the written policy, which uses the points on the lower convex "
            "hull; the official verifier uses the points that its pruning keeps.",
            width,
        ),
        "",
    ]
    policy = ways[Profile.POLICY]
    if len(policy.used) > 1:
        lines += chart(curve_of(policy, unit), width)
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def _users(by_policy: bool, by_verifier: bool) -> str:
    if by_policy and by_verifier:
        return "both"
    return "policy" if by_policy else "verifier" if by_verifier else "neither"


def _as_json(
    rules: Round, benchmark: str, points: Sequence[Point], ways: dict[Profile, References]
) -> str:
    members = []
    for point, policy, verifier, by_policy, by_verifier in _rows(points, ways):
        members.append(
            {
                "id": point.id,
                "batch_size": point.batch_size,
                "to_converge": list(point.to_converge),
                "hyperparameters": dict(point.hyperparameters),
                "policy": {**reference_member(policy), "used": by_policy},
                "verifier": {**reference_member(verifier), "used": by_verifier},
            }
        )
    document = {
        "schema": SCHEMA,
        "usage": rules.usage,
        "round": rules.name,
        "benchmark": benchmark,
        "unit": rules.benchmark(benchmark).convergence.unit,
        "points": members,
    }
    return json_text(document)


def reference_member(reference: Reference) -> dict[str, Any]:
    """A reference as JSON data."""
    return {
        "ids": list(reference.ids),
        "batch_size": reference.batch_size,
        "mean": reference.mean,
        "deviation": reference.deviation,
        "minimum": reference.minimum,
        "maximum_speedup": reference.maximum_speedup,
        "values": reference.count,
    }
