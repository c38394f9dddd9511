"""The output of `podium fix`: differences, renames, and the command to apply them; and its JSON."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.fixing.change import Action, FileChange, FixOutcome
from podium.compliance.version import VERSION

SCHEMA = "podium.fix/1"

_NOUNS = {
    Action.EDIT: "edit",
    Action.MODE: "permission change",
    Action.REMOVE: "removal",
    Action.RENAME: "rename",
    Action.DECOMPRESS: "decompression",
}


def to_text(
    submissions: Sequence[FixOutcome],
    path: Path,
    width: int,
    *,
    written: bool,
    options: Sequence[str] = (),
) -> str:
    """The changes of each submission, the rest, and the command that applies the changes.

    `options` are the options with which the command finds the same changes.
    """
    lines: list[str] = []
    for outcome in submissions:
        lines += _submission(outcome, width)
    changes = [change for outcome in submissions for change in outcome.changes]
    manual_count = sum(len(outcome.left) for outcome in submissions)
    if not changes:
        lines.append("Nothing to fix." if not manual_count else "Nothing that podium can fix.")
    elif written:
        lines.append(f"Fixed: {_counted(changes)}.")
    else:
        lines.append(f"To fix: {_counted(changes)}. Nothing was written.")
        command = shlex.join(["podium", "fix", str(path), *options, "--write"])
        lines.append(f"  $ {clean(command)}")
    if manual_count:
        lines.append(f"To fix by hand: {manual_count}.")
    return "\n".join(lines) + "\n"


def to_data(submissions: Sequence[FixOutcome], *, written: bool) -> dict[str, Any]:
    """The output as data with the schema podium.fix/1; paths are relative to each submission."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "podium", "version": VERSION},
        "written": written,
        "submissions": [
            {
                "path": outcome.root,
                "rules": outcome.round,
                "changes": [_change_data(change) for change in outcome.changes],
                "left": [{"path": fix.path, "reason": fix.reason} for fix in outcome.left],
            }
            for outcome in submissions
        ],
    }


def _submission(outcome: FixOutcome, width: int) -> Iterator[str]:
    if not (outcome.changes or outcome.left):
        return
    yield from wrap(f"{clean(outcome.name)} ({outcome.round})", width)
    yield ""
    for change in outcome.changes:
        yield from _change(change, width)
    for fix in outcome.left:
        yield from wrap(f"left    {clean(fix.path)}: {clean(fix.reason)}", width, "  ", " " * 10)
    yield ""


def _change(change: FileChange, width: int) -> Iterator[str]:
    target = clean(change.path or ".")
    if change.to:
        target += f" to {clean(change.to.rpartition('/')[2])}"
    elif change.action is Action.MODE:
        target += " from {:04o} to {:04o}".format(*change.modes)
    yield from wrap(f"{change.action.value:7} {target}", width, "  ", " " * 10)
    for reason in change.why:
        yield from wrap(clean(reason), width, " " * 10, " " * 10)
    # A difference is not wrapped, so that its lines match the lines of the file
    yield from (f"    {line}" for line in _difference(change))


def _difference(change: FileChange) -> list[str]:
    """A unified diff of an edit; empty if only the encoding changes."""
    if change.action is not Action.EDIT:
        return []
    before, after = (_lines(data) for data in (change.before, change.after))
    diff = difflib.unified_diff(before, after, change.path, change.path, lineterm="", n=1)
    lines = []
    for line in diff:
        lines.append(clean(line.rstrip("\n").expandtabs(4)))
        # As in diff: otherwise a missing newline would be invisible
        if line.startswith((" ", "-", "+")) and not line.endswith("\n") and len(lines) > 3:
            lines.append("\\ No newline at end of file")
    return lines


def _lines(data: bytes) -> list[str]:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    # Split at \n only: strings may contain other characters that Python treats as line endings
    parts = data.decode(encoding, "backslashreplace").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + parts[-1:] * bool(parts[-1])


def _counted(changes: Sequence[FileChange]) -> str:
    counts = Counter(change.action for change in changes)
    counted = ((counts[action], noun) for action, noun in _NOUNS.items())
    return ", ".join(plural(number, noun) for number, noun in counted if number)


def _change_data(change: FileChange) -> dict[str, Any]:
    data: dict[str, Any] = {
        "action": change.action.value,
        "path": change.path or ".",
        "why": list(change.why),
    }
    if change.to:
        data["to"] = change.to
    elif change.action is Action.MODE:
        data["mode"], data["to_mode"] = (f"{mode:04o}" for mode in change.modes)
    elif change.action is Action.EDIT:
        data["diff"] = "\n".join(_difference(change))
    return data
