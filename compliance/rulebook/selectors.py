"""Globs of rule ids, as `--select` and `--ignore` take them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator

from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.explain import nearest
from podium.rules.catalogue import USAGES, rounds_of


def unmatched(option: str, globs: Iterable[str]) -> Iterator[str]:
    """A sentence for each glob that matches no rule of any round: a slip of the pen."""
    for glob in globs:
        if not any(fnmatch.fnmatchcase(rule, glob) for rule in _ids()):
            near = nearest(glob, sorted({*_ids()}))
            advice = f"did you mean {' or '.join(near)}?" if near else "see podium rules list --all"
            yield f"{option} {glob!r} matches no rule; {advice}"


def _ids() -> Iterator[str]:
    """Every rule's ids, old ones too; the newest rounds come first."""
    for usage in USAGES:
        for rules in reversed([*rounds_of(usage).values()]):
            for rule in all_rules(rules):
                yield from (rule.id, *rule.formerly)
