"""Normalized spellings of chips and categories, so that similar results are grouped."""

from __future__ import annotations

import re
from functools import lru_cache

from podium.compliance.judging.systems.fields import LOG_STATUS, category_of

_REMARK = re.compile(r"\([^()]*\)")
_VENDOR = re.compile(
    r"\b(?:nvidia|amd|intel|google|huawei|graphcore|habana|tesla|quadro|geforce|radeon|instinct"
    r"|ipu|gpus?|ai accelerator|accelerator|tensor[ -]core)\b",
    re.IGNORECASE,
)
_MEMORY = re.compile(r"(\d+)\s*(GB)\b(?:[ -]HBM\w+)?", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s_-]+")


@lru_cache(maxsize=4096)
def chip_of(text: str) -> str:
    """The model of a chip without its vendor and remarks, such as A100-SXM4-80GB.

    Spellings of one chip differ in vendor, spaces, hyphens, case and remarks on its power.
    """
    bare = _VENDOR.sub(" ", _REMARK.sub(" ", text))
    bare = _MEMORY.sub(r"\1\2", bare)
    joined = _BETWEEN.sub("-", bare.strip(" -_")).upper()
    joined = re.sub(r"^TPU-?(?=V\d)", "TPU-", joined)
    return re.sub(r"^(ASCEND|GAUDI|RTX|RX|GC)-(?=\d)", r"\1", joined) or text.strip()


def place_in(path: str) -> tuple[str, str]:
    """The submitter and the system that a path names; each is "" if it names none.

    For logs directly below the folder of their system, which is not the layout of a result.
    """
    parts = path.split("/")
    if "results" not in parts:
        return "", ""
    index = parts.index("results")
    submitter = parts[index - 1] if index else ""
    return submitter, parts[index + 1] if index + 1 < len(parts) else ""


@lru_cache(maxsize=4096)
def category_name(text: str) -> str:
    """The category that a status names, in the words of descriptions; the text if it names none.

    Logs say `onprem`, `cloud`, `preview` or `research`.
    """
    category = category_of(text)
    if category is not None:
        return category.value
    status = text.strip().casefold()
    logged = (category for category, words in LOG_STATUS.items() if words == (status,))
    match = next(logged, None)
    return text.strip() if match is None else match.value
