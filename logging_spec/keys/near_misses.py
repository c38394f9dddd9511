"""Names in a log that probably mean a key that the log lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final

from podium.logging_spec.keys.lookup import ALL, nearest

LONG_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "acc": "accuracy",
        "accum": "accumulation",
        "beta1": "beta 1",
        "beta2": "beta 2",
        "bs": "batch size",
        "batchsize": "batch size",
        "begin": "start",
        "end": "stop",
        "eps": "epsilon",
        "evaluation": "eval",
        "finish": "stop",
        "freq": "frequency",
        "gas": "gradient accumulation steps",
        "gbs": "global batch size",
        "grad": "gradient",
        "len": "length",
        "lr": "learning rate",
        "maximum": "max",
        "number": "num",
        "optimiser": "opt",
        "organisation": "org",
        "organization": "org",
        "optimizer": "opt",
        "r": "rank",
        "seq": "sequence",
        "seqlen": "sequence length",
        "submitter": "submission",
        "training": "train",
        "validation": "eval",
        "val": "eval",
        "wd": "weight decay",
    }
)
"""Abbreviations of words in keys, and their long forms."""

LEAST_SHARE = 0.66
"""Minimum share of equal words in two names."""

MOST_WORDS = 2
"""Words that a name may lack or have in addition."""


def near_misses(names: Iterable[str], missing: Sequence[str]) -> dict[str, str]:
    """Each logged name that is not a key, with the missing key that it probably means.

    A name is compared only with the missing keys: in a log without missing keys, an unknown name is
    simply an additional key.
    """
    return dict(_near_misses(tuple(names), tuple(missing)))


# All logs of one program have the same names
@lru_cache(maxsize=256)
def _near_misses(names: tuple[str, ...], missing: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    unknown = [name for name in names if name not in ALL and len(name) < 100]
    ranked = sorted(
        (
            (-_likeness(name, key), name, key)
            for name in unknown
            for key in missing
            if _likeness(name, key) >= LEAST_SHARE
        ),
    )
    pairs: dict[str, str] = {}
    for _, name, key in ranked:
        # The best pair first: one name stands for one key
        if name not in pairs and key not in pairs.values():
            pairs[name] = key
    return tuple(pairs.items())


def _likeness(name: str, key: str) -> float:
    """Similarity of two names: 1 for the same words, less if words are missing or added."""
    match = nearest(name)
    if match is not None and match.name == key:
        return 1.0
    name_words, key_words = _words(name), _words(key)
    common = _common(name_words, key_words)
    missing = max(len(name_words), len(key_words)) - common
    # If both names have words that the other lacks, they have different meanings
    if common < min(len(name_words), len(key_words)) or missing > MOST_WORDS:
        return 0.0
    # One common word is enough only if it is the noun, as in accuracy for eval_accuracy
    if common < 2 and name_words[-1:] != key_words[-1:]:
        return 0.0
    return 2 * common / (len(name_words) + len(key_words))


def _common(name_words: tuple[str, ...], key_words: tuple[str, ...]) -> int:
    remaining = list(key_words)
    for word in name_words:
        close = difflib.get_close_matches(
            word, remaining, n=1, cutoff=0.8 if len(word) > 4 else 1.0
        )
        if close:
            remaining.remove(close[0])
    return len(key_words) - len(remaining)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip()).lower()
    words = [word for word in re.split(r"[^a-z0-9]+", text) if word]
    return tuple(chain.from_iterable(LONG_FORMS.get(word, word).split() for word in words))
