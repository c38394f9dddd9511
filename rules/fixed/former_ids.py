"""Ids that rules had before: what selects, ignores or waives an old id means the rule of today.

Each rule declares its own, as `formerly`. They stand here again, as findings are matched by their
ids where not all rules are at hand; a test holds the two together.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

FORMER_IDS: Mapping[str, tuple[str, ...]] = {
    "guard.conflicting-declaration": ("guard.declared-otherwise",),
    "pairing.unclosed-interval": ("pairing.left-open",),
    "progress.not-monotonic": ("progress.goes-back",),
    "result.copied-run": ("review.same-learning",),
    "result.invalid-log-name": ("result.strange-log-name",),
    "result.unsupported-scaling": ("score.factor-differs",),
    "score.uneven-speed": ("score.wide-spread",),
}
"""By the id of today."""


def matches(rule: str, globs: Iterable[str]) -> bool:
    """Whether a rule's id, or one that it had before, matches one of the globs."""
    ids = (rule, *FORMER_IDS.get(rule, ()))
    return any(fnmatch.fnmatchcase(each, glob) for glob in globs for each in ids)
