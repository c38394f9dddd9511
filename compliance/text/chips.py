"""Short names of accelerators from the long names in descriptions."""

from __future__ import annotations

import re

_CHIP = re.compile(
    r"(?i)(?<![a-z0-9])(G?[ABHLPTV]\d{2,4}[A-Z]?(?![a-z0-9])|MI\d{3}[AX]?|TPU(?:[ -]?\w+)?"
    r"|Gaudi(?: ?\d)?|IPU|Ascend ?\d*)"
)
_MAKERS = re.compile(r"(?i)^(?:nvidia|amd|intel(?:\(r\))?|google|tesla|instinct)\s+")
_LONGEST_CHIP = 24


def chip_family(text: str | None) -> str:
    """The family of a chip, such as `H100`, from its name in a description."""
    name = (text or "").strip()
    match = _CHIP.search(name.replace("(R)", ""))
    if match:
        word = match[1].replace(" ", "-" if match[1][:3].upper() == "TPU" else "")
        if word[:3].upper() == "TPU":
            return f"TPU{word[3:].lower()}"
        return word.capitalize() if word[:2].lower() in ("ga", "as") else word.upper()
    while (shorter := _MAKERS.sub("", name)) != name:
        name = shorter
    return name if len(name) <= _LONGEST_CHIP else f"{name[: _LONGEST_CHIP - 1]}…"
