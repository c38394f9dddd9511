"""The subjects of changed lines: those that decide a result first, the environment last."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from podium.logging_spec.keys.lookup import ALL

ENVIRONMENT, DOCUMENT, OTHER = "environment", "document", "code"

_SUBJECTS = (
    (
        "timing",
        (
            r"run_start|run_stop|init_start|init_stop|block_start|block_stop|mllog|log_event|"
            r"\btime\.|perf_counter|monotonic|\bdate\b|drop_caches|cache_clear|\bsleep\b|synchroni[sz]e"
        ),
    ),
    ("evaluation", r"eval|accuracy|target|metric|\bquality|converge|early.?stop|threshold|\bmap\b"),
    (
        "numerics",
        (
            r"fp4|fp8|fp16|fp32|bf16|float16|bfloat|mxfp|nvfp|\bamp\b|autocast|precision|dtype|"
            r"quanti[sz]|loss.?scal|grad.?(?:clip|scal)|epsilon|\beps\b|optimi[sz]er|learning.?rate|"
            r"\blr\b|momentum|weight.?decay|dropout|warmup"
        ),
    ),
    (
        "data order",
        (
            r"seed|shuffl|sampl|dataloader|data.?loader|dataset|\bshard|drop.?last|\bepoch|"
            r"batch.?size|random|permut"
        ),
    ),
)
_PATTERNS = tuple((name, re.compile(words, re.IGNORECASE)) for name, words in _SUBJECTS)

_CLOCK = re.compile(r"(?:init|run|block)_(?:start|stop)", re.IGNORECASE)
"""Keys that begin and end timed intervals; they also count in the context of a change."""

_DOCUMENTS = re.compile(r"(?:^|/)(?:readme|license|notice|changelog)[^/]*$|\.(?:md|rst)$", re.I)
_ENVIRONMENTS = re.compile(
    r"(?:^|/)(?:dockerfile[^/]*|requirements[^/]*|\.[^/]*ignore|mounts?[^/]*)$|\.(?:sub|slurm)$",
    re.IGNORECASE,
)
_SETTINGS = re.compile(
    r"^[+-]\s*(?:#.*|(?:export\s+)?(?:NCCL|UCX|OMP|CUDA|HIP|HSA|RCCL|SLURM|SBATCH|PMI|OMPI|MPI|IB|"
    r"NVTE_DEBUG|LD|PATH|HOME|CONT|MOUNT|DATADIR|LOGDIR|WALLTIME|DGX\w*)\w*=.*|)$"
)

RANKS = ("timing", "logged key", "evaluation", "numerics", "data order", OTHER)
"""Subjects in the order in which hunks are listed; the environment and documents come last."""


def subjects(path: str, lines: Sequence[str]) -> tuple[str, ...]:
    """The subjects of the added and removed lines of a hunk."""
    changed = [line for line in lines if line[:1] in "+-"]
    if _DOCUMENTS.search(path):
        return (DOCUMENT,)
    text = "\n".join(line[1:] for line in changed)
    matched = [name for name, pattern in _PATTERNS if pattern.search(text)]
    # A line moved past the end of the run changes the timing, although git shows only that line
    if "timing" not in matched and _CLOCK.search("\n".join(lines)):
        matched.append("timing")
    if _keys().search(text):
        matched.append("logged key")
    if _ENVIRONMENTS.search(path) and "timing" not in matched and "logged key" not in matched:
        return (ENVIRONMENT,)
    if not matched and all(_SETTINGS.match(line) for line in changed):
        return (ENVIRONMENT,)
    return tuple(sorted(matched, key=RANKS.index)) or (OTHER,)


def rank(names: Sequence[str]) -> int:
    """The rank of a hunk with these subjects; the lowest comes first."""
    return min((RANKS.index(name) for name in names if name in RANKS), default=len(RANKS))


@cache
def _keys() -> re.Pattern[str]:
    # A word such as seed or target has its own subject; a key of several words is unambiguous
    names = sorted(name for name in ALL if "_" in name)
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, names))})(?![a-z0-9])", re.I)
