"""What people are told about the rules of convergence."""

from __future__ import annotations

from collections.abc import Mapping

from podium.compliance.rulebook.package_texts import FixedText

SCORE_TEXTS: Mapping[str, FixedText] = {
    "rcp.failed": FixedText(
        "a closed result converges no sooner than the reference convergence points allow",
        "who converges sooner than chance explains has changed the model, the data or the rules",
        hint="see `podium rcp check` for the arithmetic",
    ),
    "rcp.missing": FixedText(
        "a closed result's batch size lies within those of the reference convergence points",
        "a result at another batch size has nothing to be held against",
        hint="submit reference runs at this batch size, or choose another",
    ),
}
"""The rules about convergence, in the order pages list them."""
