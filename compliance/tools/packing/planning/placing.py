"""Files and folders put into a plan as they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from podium.compliance.tools.packing.planning.plan import Plan
from podium.compliance.tools.packing.planning.sources import (
    Found,
    SourceFault,
    in_folder,
    shown_path,
    source_of,
)


def put_file(plan: Plan, path: str, source: str, kind: str) -> None:
    """Put a file into the plan, or note that it is absent; `kind` is what it is to the user."""
    try:
        plan.add(path, source_of(plan.base / source, plan.base))
    except SourceFault as fault:
        plan.lack(path, f"{kind}: {source}: {fault}")


def put_folder(plan: Plan, path: str, full: Path, exclude: Iterable[str] = ()) -> None:
    """Put all files and links of a folder into the plan, but for those excluded."""
    display_path = shown_path(full, plan.base)
    plan.folders[path] = display_path
    for found in in_folder(full, plan.base, tuple(exclude)):
        if found.source is None:
            pass_over(plan, path, display_path, found)
        else:
            plan.add(f"{path}/{found.below}", found.source)


def pass_over(plan: Plan, path: str, display_path: str, found: Found) -> None:
    """Leave out a file of the folder `display_path`; what cannot be read lets nothing be written.

    `path` is the folder's in the tree, empty for the tree itself.
    """
    source = f"{display_path}/{found.below}".removesuffix("/")
    if found.unreadable:
        to = "/".join(part for part in (path, found.below) if part) or "."
        plan.conflict(to, f"{source}: {found.why}")
    else:
        plan.leave_out(source, found.why)
