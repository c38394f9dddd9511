"""A report's paths as they are seen from a folder, instead of from the PATH that was judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.data import STDIN, Outcome
from podium.rules.finding import Finding


def root_of(given: Path | None) -> str:
    """The folder to see paths from, whole: the one given, else the working directory.

    Raises UsageFault where it is no folder.
    """
    if given is not None and not given.is_dir():
        raise UsageFault(f"--relative-to {given}: no such folder")
    return os.path.abspath(given or ".")


def based(report: Outcome, paths: Sequence[Path], root: str) -> Outcome:
    """The report with what to put in front of its paths; `paths` are those that were judged.

    `root` is a whole path. The paths of a report are relative to a PATH given alone, and to the
    working directory where several are given.
    """
    folder = ""
    if len(paths) == 1:
        folder = str(paths[0] if paths[0].is_dir() else paths[0].parent)
    return replace(report, base=_seen(folder, root))


def placed(report: Outcome, root: str, *, existing: bool = False) -> Outcome:
    """The report with paths from `root`, or whole ones where they lie outside.

    `existing`: a finding that something is missing points at the nearest folder there is, and its
    message names what is missing.
    """
    known: dict[str, str] = {}

    def place(path: str) -> str:
        if path not in known:
            known[path] = _in_root(joined(report.base, path), root)
        return known[path]

    findings: Iterable[Finding] = (replace(each, path=place(each.path)) for each in report.findings)
    if existing:
        findings = _pointing(findings, root)
    return replace(
        report,
        base="",
        submissions=[replace(each, path=place(each.path)) for each in report.submissions],
        results=[replace(each, path=place(each.path)) for each in report.results],
        files=[replace(each, path=place(each.path)) for each in report.files],
        findings=[*findings],
    )


def is_url(path: str) -> bool:
    """Whether a path of a report is a URL: any other has one slash between two names."""
    return "://" in path


def joined(base: str, path: str) -> str:
    """A folder and a path below it; either may be empty, or `.`."""
    if not base or path.startswith("/") or is_url(path) or path == STDIN:
        return path
    return base if path in ("", ".") else f"{base.rstrip('/')}/{path}"


def _seen(folder: str, root: str) -> str:
    """A folder as it is seen from another; empty where it is that one."""
    if root == os.getcwd() and not os.path.isabs(folder):
        # As the user wrote it: it may lead up, or through links
        return "" if folder == "." else folder
    # What `..` leads to after a link is known to the file system alone
    whole = os.path.realpath(folder) if ".." in Path(folder).parts else os.path.abspath(folder)
    inside = _in_root(whole, root)
    if inside == whole:
        inside = _in_root(os.path.realpath(folder), os.path.realpath(root))
    return "" if inside == "." else inside if not os.path.isabs(inside) else whole


def _in_root(path: str, root: str) -> str:
    """A whole path without the root that it lies in; any other as it is."""
    if path == root:
        return "."
    return path.removeprefix(f"{root.rstrip('/')}/")


def _pointing(findings: Iterable[Finding], root: str) -> Iterable[Finding]:
    """The findings, each at a path that exists."""
    nearest = _nearest_there(root)
    for finding in findings:
        there = nearest(finding.path)
        if there == finding.path:
            yield finding
        else:
            message = f"{finding.path}: {finding.message}"
            yield replace(finding, path=there, line=None, message=message)


def _nearest_there(root: str) -> Callable[[str], str]:
    known: dict[str, str] = {}

    def nearest(path: str) -> str:
        if is_url(path):
            # What is there was seen when it was fetched
            return path
        if path not in known:
            # Of a broken link it is the link that is at fault
            there = not path or os.path.lexists(os.path.join(root, path))
            known[path] = path if there else nearest(os.path.dirname(path.rstrip("/")))
        return known[path]

    return nearest
