"""Lists of initialized tensors that closed logs of 1.0 to 2.1 must name, as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache

from podium.logging_spec import keys as k
from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.constraints.members import has
from podium.rules.finding import StatedBy
from podium.rules.package_data import read_beside
from podium.rules.run import Run
from podium.rules.table import AT_LEAST_ONCE, Violation, WholeLogRule, row

WEIGHTS = "weights_initialization"

NAMES_DIFFER = (
    "the names come from the implementation in one framework; the committee accepted others"
)


@cache
def tensor_names(benchmark: str) -> tuple[str, ...]:
    """The tensors whose initialization a closed log of the benchmark must list."""
    return tuple(json.loads(read_beside(__spec__, "tensors.json"))[benchmark])


@cache
def _wanted(benchmark: str) -> Counter[str]:
    return Counter(tensor_names(benchmark))


def _beyond(counts: Counter[str], others: Counter[str]) -> dict[str, int]:
    """The surplus of each name over `others`; the difference of Counters takes twice as long."""
    if not others:
        return counts
    return {
        name: surplus
        for name, count in counts.items()
        if (surplus := count - dict.get(others, name, 0)) > 0
    }


NAMED_TENSOR = row(
    k.WEIGHTS_INITIALIZATION, has("tensor"), times=AT_LEAST_ONCE, policy_exempt_reason=NAMES_DIFFER
)
"""The rule that each initialized tensor is named, in the rounds that compare the names."""


def initialised(benchmark: str) -> WholeLogRule:
    """The tensors of all weights_initialization records are exactly the benchmark's list."""

    def find(run: Run) -> Iterator[Violation]:
        members = [record.metadata for record in run.of(WEIGHTS)]
        counts = Counter(
            [
                member["tensor"]
                for member in members
                if isinstance(member, dict) and "tensor" in member
            ]
        )
        reference = _wanted(benchmark)
        if dict.__eq__(counts, reference):  # the comparison of Counters takes twice as long
            return
        differences = [
            f"{sum(names.values())} {label} ({', '.join(map(str, list(names)[:3]))}"
            f"{', …' if len(names) > 3 else ''})"
            for label, names in (
                ("missing", _beyond(reference, counts)),
                ("unexpected", _beyond(counts, reference)),
            )
            if names
        ]
        yield Violation(
            None,
            f"the initialized tensors differ from the {len(reference)} of the reference: "
            f"{'; '.join(differences)}",
            f"{len(reference)} tensors of the reference",
            sum(counts.values()),
            f"log {WEIGHTS} once for each tensor of the reference, named in metadata.tensor",
        )

    return WholeLogRule(
        "weights_initialization.tensors",
        f"one {WEIGHTS} record for each tensor of the reference implementation",
        find,
        cites=COMPLIANCE_CHECKER,
        stated_by=StatedBy.VERIFIER,
        policy_exempt_reason=NAMES_DIFFER,
    )
