"""A plan as a tree: every file with its source, and the files that are left out."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from podium.compliance.judging.inputs.layout import natural
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, columns, wrap
from podium.compliance.text.words import plural, size_text
from podium.compliance.tools.packing.planning.existing import ExistingTree
from podium.compliance.tools.packing.planning.plan import Plan, PlannedFile
from podium.compliance.tools.packing.receipt import official
from podium.compliance.tools.packing.writing.gate import error_lines
from podium.compliance.tools.packing.writing.pack import Packed
from podium.compliance.tools.packing.writing.summary import number

MOST = 40
"""Number of lines of a section; the JSON plan has all of them."""


def to_text(packed: Packed, width: int) -> str:
    """The plan for a terminal."""
    return "\n".join(_lines(packed.plan, str(packed.target), packed.existing, width)) + "\n"


def _lines(plan: Plan, target: str, existing: ExistingTree, width: int) -> Iterator[str]:
    config = plan.config
    division = f", {config.division}" if config.division else ""
    yield f"{clean(config.submitter)}: {plan.rules.title}{division}"
    text = f"{len(plan.entries)} files, {size_text(plan.size)}, to {clean(target)}"
    if existing.unchanged:
        text += " (unchanged)"
    elif existing.exists:
        text += f" ({_changes(existing)})"
    yield from wrap(text, width, "  ", "  ")
    yield ""
    yield f"{clean(config.submitter)}/"
    yield from _tree(plan, existing, width)
    yield from _section("Absent", ((a.path, a.message) for a in plan.absent), width)
    yield from _section("Missing", ((m.path, m.message) for m in plan.missing), width)
    refused = [(log.display_path, log.why) for log in plan.left_out if log.refused]
    yield from _section("Refused", refused, width)
    left_out = [(log.display_path, log.why) for log in plan.left_out if not log.refused]
    yield from _section("Left out", left_out, width)
    yield from _section("Conflicts", ((c.path, c.message) for c in plan.conflicts), width)


def _changes(existing: ExistingTree) -> str:
    counts = {
        "new": len(existing.new),
        "changed": len(existing.different),
        "dropped": len(existing.extra),
        "unchanged": len(existing.same),
    }
    return ", ".join(f"{count} {label}" for label, count in counts.items() if count)


# --- the tree ---


def _tree(plan: Plan, existing: ExistingTree, width: int) -> Iterator[str]:
    remarks: dict[str, list[str]] = {}
    for remark in plan.remarks:
        remarks.setdefault(remark.path, []).append(remark.message)
    yield from _remarks(remarks.get(".", ()), 1, width)
    display_path: tuple[str, ...] = ()
    for path, entries in _rows(plan):
        *above, name = path.split("/")
        for depth, part in enumerate(above):
            if display_path[: depth + 1] != tuple(above[: depth + 1]):
                yield f"{'  ' * (depth + 1)}{clean(part)}/"
                yield from _remarks(remarks.get("/".join(above[: depth + 1]), ()), depth + 2, width)
                display_path = tuple(above[: depth + 1])
        display_path = tuple(above)
        yield from _row(plan, name, entries, len(above) + 1, existing, width)


def _rows(plan: Plan) -> Iterator[tuple[str, list[PlannedFile]]]:
    """The files in natural order; a folder that is copied completely is one row."""
    folders: dict[str, list[PlannedFile]] = {}
    single: dict[str, list[PlannedFile]] = {}
    for entry in plan.sorted():
        folder = next((f for f in plan.folders if entry.path.startswith(f"{f}/")), None)
        (single if folder is None else folders).setdefault(folder or entry.path, []).append(entry)
    for path in natural([*folders, *single]):
        yield path, folders.get(path) or single[path]


def _row(
    plan: Plan,
    name: str,
    entries: list[PlannedFile],
    depth: int,
    existing: ExistingTree,
    width: int,
) -> Iterator[str]:
    indent = "  " * depth
    path = entries[0].path
    if path.rpartition("/")[2] == name and len(entries) == 1:
        source, label = entries[0].source.display_path, clean(name)
        notes = [entries[0].why] if entries[0].why else []
    else:
        folder = next(f for f in plan.folders if path.startswith(f"{f}/"))
        count = plural(len(entries), "file")
        source, label = plan.folders[folder], f"{clean(name)}/ ({count})"
        notes = []
    if existing.exists and any(entry.path in existing.different for entry in entries):
        notes.append("changed")
    head = f"{indent}{label}"
    gap = " " * max(2, 34 - columns(head))
    line = f"{head}{gap}< {clean(source)}"
    if source == path:
        yield head
    elif columns(line) <= width:
        yield line
    else:
        yield head
        yield f"{indent}  < {clean(source)}"
    yield from _remarks(notes, depth + 1, width)


def _remarks(messages: Iterable[str], depth: int, width: int) -> Iterator[str]:
    indent = "  " * depth
    for text in messages:
        yield from wrap(clean(text), width, f"{indent}- ", f"{indent}  ")


def _section(title: str, items: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    entries = list(items)
    if not entries:
        return
    yield ""
    yield f"{title}: {len(entries)}"
    for path, message in entries[:MOST]:
        yield from wrap(f"{clean(path)}: {clean(message)}", width, "  - ", "    ")
    if len(entries) > MOST:
        yield f"  - and {len(entries) - MOST} more"


# --- for scripts ---


def to_json(packed: Packed) -> str:
    """The plan and its outcome as JSON."""
    return json_text(_data(packed))


def _data(packed: Packed) -> dict[str, Any]:
    plan, existing = packed.plan, packed.existing

    def messages(items: Iterable[Any]) -> list[dict[str, str]]:
        return [{"path": entry.path, "message": entry.message} for entry in items]

    return {
        "schema": "podium.plan/2",
        "submitter": plan.config.submitter,
        "rules": {"usage": plan.rules.usage, "round": plan.rules.name},
        "target": str(packed.target),
        "state": packed.state,
        "verdict": None if packed.report is None else packed.report.verdict,
        "official_verdict": None if packed.report is None else packed.report.official_verdict,
        "receipt": None if packed.receipt_file is None else str(packed.receipt_file),
        "unchanged": existing.unchanged,
        "files": [
            {
                "path": entry.path,
                "source": entry.source.display_path,
                "size": entry.source.size,
                "renamed": entry.path.rpartition("/")[2]
                != entry.source.display_path.rpartition("/")[2],
                "why": entry.why,
            }
            for entry in plan.sorted()
        ],
        "remarks": messages(plan.remarks),
        "missing": messages(plan.missing),
        "absent": messages(plan.absent),
        "conflicts": messages(plan.conflicts),
        "left_out": [
            {"source": log.display_path, "why": log.why, "refused": log.refused}
            for log in plan.left_out
        ],
        "dropped": existing.extra,
    }


def outcome_text(packed: Packed, width: int) -> str:
    """The lines after the plan."""
    return "\n".join(_outcome_lines(packed, width)) + "\n"


def _reason(plan: Plan) -> str:
    if plan.conflicts:
        return plural(len(plan.conflicts), "conflict")
    if not plan.entries:
        return "there is nothing to pack"
    absent = plural(len(plan.absent), "named file is", "named files are")
    return f"{absent} absent (--force ignores this)"


def _outcome_lines(packed: Packed, width: int) -> Iterator[str]:
    plan, report = packed.plan, packed.report
    if packed.state == "planned":
        yield "Dry run: nothing was written."
        return
    if packed.state == "refused":
        yield f"Refused: {_reason(plan)}; nothing was written."
        return
    assert report is not None
    counts = report.counts
    yield from wrap(
        f"Check against the policy of {plan.rules.title}: {report.verdict}; "
        f"{plural(counts.error, 'error')}, {plural(counts.warning, 'warning')}, "
        f"{counts.waived} waived; {official(report.official_verdict)}",
        width,
    )
    yield from error_lines(report, width)
    for result in report.results:
        score = f"{number(result.score)} minutes" if result.score is not None else "no score"
        yield f"  {clean(result.path)}: {result.verdict}, {score}"
    target = clean(shlex.quote(str(packed.target)))
    if packed.state == "rejected":
        yield "Not packed: the check rejects the tree. Nothing has changed. Use --force to pack it."
        return
    forced = " (forced)" if packed.receipt is not None and packed.receipt.forced else ""
    if packed.state == "unchanged":
        yield f"Nothing to do{forced}: {target} is up to date."
    else:
        yield f"Packed{forced}: {target}, {len(plan.entries)} files, {size_text(plan.size)}."
    if packed.receipt_file is not None:
        yield f"Receipt: {clean(str(packed.receipt_file))}"
