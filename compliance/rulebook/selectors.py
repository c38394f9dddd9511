"""Globs of rule ids, as `--select` and `--ignore` take them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Iterator

from podium.compliance.judging.inputs.house_rules import FAMILY
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.explain import nearest
from podium.compliance.rulebook.plugged.rules import added_rules
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.catalogue import USAGES, rounds_of


def unmatched(option: str, globs: Iterable[str]) -> Iterator[str]:
    """A sentence for each glob that matches no rule of any round."""
    for glob in globs:
        # The podium.toml that has them may lie beside what is judged, far from where one stands
        if glob.startswith(f"{FAMILY}."):
            continue
        if not any(fnmatch.fnmatchcase(each, glob) for rule in _rules() for each in rule.ids):
            near = _near(glob, sorted({rule.id for rule in _rules()}))
            advice = f"did you mean {' or '.join(near)}?" if near else "see podium rules list --all"
            yield f"{option} {glob!r} matches no rule; {advice}"


def _near(glob: str, ids: list[str]) -> list[str]:
    """Ids like a glob that matches none; for one that ends in a wildcard, families of ids."""
    stem, wildcard, _ = re.split(r"([*?[]|$)", glob, maxsplit=1)
    if not wildcard or not stem.rstrip("."):
        return nearest(glob, ids)
    parts = [each.split(".") for each in ids]
    families = {".".join(each[:depth]) for each in parts for depth in range(1, len(each))}
    near = difflib.get_close_matches(stem.rstrip("."), sorted(families), n=2, cutoff=0.7)
    return [f"{family}.*" for family in near] or nearest(glob, ids)


def _rules() -> Iterator[Rule]:
    """Every rule, those of the newest rounds first: a rule wanted is mostly one of theirs."""
    for usage in USAGES:
        for rules in reversed([*rounds_of(usage).values()]):
            yield from all_rules(rules)
    yield from added_rules()
