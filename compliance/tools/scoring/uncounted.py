"""Logs that are not scored because of their names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from podium.compliance.judging.discovery import Inputs
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.tree_scan import scan
from podium.compliance.judging.options import Options
from podium.compliance.text.words import join_limited, plural
from podium.compliance.tools.scoring.score_rules import UNCOUNTED_LOGS
from podium.rules.finding import Finding, Severity

_MOST_NAMES = 3


def uncounted_logs(inputs: Inputs, options: Options) -> Iterator[Finding]:
    """A finding for each folder with logs that no score includes because of their names."""
    request = RoundRequest(options.usage, options.round)
    for package in inputs.packages:
        rules = request.choose(package.root).rules
        tree = scan(package, rules, inputs.disks.get(package.root))
        for folder in tree.results:
            if folder.misnamed:
                is_complete = len(folder.logs) >= rules.benchmark(folder.benchmark).runs
                severity = Severity.WARNING if is_complete else None
                yield _finding(tree.place(folder.path), folder.misnamed, options, severity)
    loose_logs: dict[str, list[str]] = {}
    for path in inputs.misnamed:
        loose_logs.setdefault(os.path.dirname(path) or ".", []).append(os.path.basename(path))
    for path, names in loose_logs.items():
        yield _finding(path, names, options, Severity.WARNING)


def _finding(
    path: str, names: Sequence[str], options: Options, severity: Severity | None
) -> Finding:
    return UNCOUNTED_LOGS.found(
        options.profile,
        path,
        severity=severity,
        count=plural(len(names), "file"),
        verb="is" if len(names) == 1 else "are",
        names=join_limited([*names], _MOST_NAMES),
    )
