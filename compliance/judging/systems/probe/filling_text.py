"""What `podium system init` tells: each value with its source, differences, what is left."""

from __future__ import annotations

from collections.abc import Iterable

from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.fill import Draft, hint
from podium.compliance.text.terminal import clean, wrap


def to_text(draft: Draft, file: str, width: int) -> str:
    """The whole answer, no line wider than `width`."""
    room = max(len(name) for name in FIELDS)
    lines = []
    for name, value in ((name, draft.values[name]) for name in FIELDS if name in draft.values):
        text = f"{value.text}  ({value.source})"
        lines += wrap(clean(text), width, f"  {name:{room}}  ", " " * 6)
    lines += _section("differences", draft.differences, width)
    lines += _section("note", draft.notes, width)
    missing = draft.missing()
    left = [f"{each.name}: {hint(each, draft.rules)}" for each in missing]
    lines += _section("still to be filled in", left, width)
    state = f"{len(missing)} fields are marked TODO" if missing else "every field is filled"
    state = "1 field is marked TODO" if len(missing) == 1 else state
    head = wrap(clean(f"{file}: {draft.rules.title}, {state}"), width)
    last = wrap(clean(f"next: podium system check {file}"), width)
    return "\n".join([*head, *lines, "", *last]) + "\n"


def _section(title: str, found: Iterable[str], width: int) -> list[str]:
    lines = [line for text in found for line in wrap(clean(text), width, "  - ", "    ")]
    return ["", title, *lines] if lines else []
