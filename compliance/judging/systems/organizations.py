"""Comparison of organization names in folders, logs and system descriptions."""

from __future__ import annotations

import re

from podium.compliance.judging.systems.fields import letters

# Published joint submissions list partners in any order: `CoreWeave + IBM + NVIDIA` in the
# description, `IBM+CoreWeave+NVIDIA` as the folder
_PARTNERS = r"[+&,/;]|\band\b"
_FORMS = (
    "inc incorporated corp corporation co company ltd limited llc gmbh ag plc labs the technology "
    "technologies systems group"
)
_LEGAL = frozenset(_FORMS.split())


def same_organization(first: str, second: str) -> bool:
    """Whether two names mean the same organizations, in any order, case, or abbreviation."""
    full_names = letters(first), letters(second)
    # One may be the shorter name: published folders have Habana, descriptions HabanaLabs
    if full_names[0] in full_names[1] or full_names[1] in full_names[0]:
        return True
    if _abbreviates(first, second) or _abbreviates(second, first):
        return True
    return _covered(first, second) and _covered(second, first)


def _abbreviates(short: str, full_name: str) -> bool:
    """Whether a word of one name consists of the initials of the other, at least three."""
    initials = "".join(word[0] for word in re.findall(r"[^\W_]+", full_name.casefold()))
    return len(initials) > 2 and initials in re.findall(r"[^\W_]+", short.casefold())


def _covered(first: str, second: str) -> bool:
    other_cores = [_core(partner) for partner in _partners(second)]
    return all(
        any(core in other or other in core for other in other_cores if other)
        for core in map(_core, _partners(first))
        if core
    )


def _partners(name: str) -> list[str]:
    return re.split(_PARTNERS, name, flags=re.IGNORECASE)


def _core(name: str) -> str:
    words = [w for w in re.findall(r"\w+", name.casefold()) if w not in _LEGAL]
    # A name that consists of legal forms must not become empty: it could not be compared
    return letters("".join(words)) or letters(name)
