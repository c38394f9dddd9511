"""The kinds of objections, in the order in which a reviewer looks at them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal, get_args

Kind = Literal[
    "copies",
    "convergence",
    "settings",
    "clock",
    "evaluation",
    "runs",
    "description",
    "hygiene",
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_RULES: tuple[tuple[Kind, tuple[str, ...]], ...] = (
    (
        "copies",
        (
            *("result.copied-run", "result.same-score", "review.copied-stretch", "seeds.*"),
            *("review.seeds-reused", "earlier.shifted-log", "earlier.other-submitter"),
            "earlier.resubmitted",
        ),
    ),
    (
        "convergence",
        (
            *("rcp.*", "*.target", "result.not-converged", "throughput.not-converged"),
            *("review.outside-band", "review.near-miss", "score.absurd-convergence"),
            "run.gave-up-early",
        ),
    ),
    (
        "evaluation",
        ("*eval*", "progress.*", "pairing.*", "result.checkpoints-left-out"),
    ),
    (
        "runs",
        (
            *("result.too-*", "result.broken-run-dropped", "result.invalid-log-name", "log.*"),
            *("result.numbering", "result.run-*", "common.*", "run.*", "throughput.*", "round.*"),
            *("score.broken-run-counted", "review.missing-*", "result.unfinished-run-dropped"),
        ),
    ),
    (
        "clock",
        (
            *("speed.*", "score.*", "result.uneven-speed", "review.clock-*", "review.pace"),
            *("review.regular-times", "review.too-fast", "review.too-slow", "review.outlier-run"),
            *("review.slow-start", "review.overlapping-runs", "result.overlapping-runs"),
        ),
    ),
    (
        "settings",
        (
            *("result.*", "closed.*", "open.*", "hpc.*", "training.*", "borrowing.*", "preview.*"),
            *("review.config-disagrees", "params.*", "guard.*"),
        ),
    ),
    ("description", ("system.*", "power.*", "review.description-changes", "earlier.system-*")),
)
"""The first kind that matches a rule applies; a rule without a match is hygiene."""


def kind_of(rule: str) -> Kind:
    """The kind of a rule, by its id; a reviewer's own objection is of the first kind."""
    if not rule:
        return KINDS[0]
    kinds = (kind for kind, globs in _RULES if any(fnmatchcase(rule, glob) for glob in globs))
    return next(kinds, "hygiene")
