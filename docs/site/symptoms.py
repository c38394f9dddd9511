"""What the official tools print, and the rules by which podium reports the same.

Nothing of it is written down: a submission without fault is broken in each way that the rules show
as examples, and each key of its logs is left out, repeated or given another value; then both the
official tools and podium judge it. What they newly print stands beside what podium newly reports.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from commands import plain

from podium.compliance import check
from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.rules.fixed.edits import RESULT, Edit, drop, set_to
from tests.builders import build
from tests.compliance.edits import apply
from tests.compliance.rulebook.cases import early
from tests.compliance.trees import usual

USAGE, ROUND = "training", "5.1"
BENCHMARK = "llama31_405b"
LOG = f"{RESULT}/result_0.txt"
MANY = 5
"""A message that comes with more rules says of none of them that it was broken."""
Maker = Callable[[Path], Path]
"""Makes a submission in a folder; its root."""
VAGUE = "many: a line before it says which"
CONSEQUENCE = re.compile(r"rcp\.failed|result\.too-many-failed-runs|seeds\.unreadable-log")
"""Rules that a result breaks because its logs break others."""

HEAD = """# By symptom

What the tools of `mlperf-logging` print, and the rules by which podium reports the same: search
this page for the part of a message that has no name, number or path in it. `podium rules explain
ID` says what a rule wants and why, with an example. This page is made by breaking a complete
submission of training 5.1 in every way that the rules have an example of, and asking both. N stands
for a number, KEY for a key of the log, … for a path or a value.

| The official tools print | podium reports |
|---|---|
"""

_VALUES = re.compile(r"[^A-Za-z^]*|\W*\".*|current .*|Run N/N|:::MLLOG .*|triggered by line:")
"""Lines that show what was logged, and rules."""


def page() -> str:
    """The index, sorted by message."""
    seen = defaultdict[str, Counter[str]](Counter)
    usual_lines, usual_ids = judged(edited())
    for broken, wanted in breakages():
        lines, ids = judged(broken)
        for line in lines - usual_lines:
            # An edit may break more than what it is the example of
            seen[line].update(({wanted} if wanted else ids) - usual_ids)
    rows = []
    for line, rules in sorted(seen.items()):
        if rules:
            ids = ", ".join(f"`{rule}`" for rule, _ in rules.most_common())
            rows.append(f"| {plain(line)} | {ids if len(rules) <= MANY else VAGUE} |\n")
    return HEAD + "".join(rows)


def edited(*edits: Edit) -> Maker:
    """A maker of the complete submission with these edits."""
    return lambda place: apply(usual(place).root, edits)


def breakages() -> Iterator[tuple[Maker, str]]:
    """Submissions that the verifier profile has a rule against, and the rule where it is known."""
    for rule in FIXED_RULES:
        if rule.in_verifier is not None and not isinstance(rule.bad, str):
            yield edited(*rule.bad), rule.id
    yield lambda place: usual(place).result(change=early).root, "rcp.failed"
    log = build(USAGE, ROUND, "closed", BENCHMARK)
    for key in dict.fromkeys(line.record.key for line in log.lines if line.record):
        yield edited(drop(LOG, key)), ""
        yield edited(set_to(LOG, key, "nonsense")), ""
        yield edited(set_to(LOG, key, -1)), ""


def judged(broken: Maker) -> tuple[set[str], set[str]]:
    """The official tools' lines on a submission, and the ids of podium's rules."""
    with tempfile.TemporaryDirectory() as place:
        root = broken(Path(place))
        lines = {_generic(line, root) for text in _official(root) for line in text.splitlines()}
        report = check(root, usage=USAGE, round=ROUND, profile="verifier")
        found = [each for each in report.findings if not each.caused_by]
        ids = {_family(each.id, each.key) for each in found if not CONSEQUENCE.fullmatch(each.id)}
        return {line for line in lines if not _VALUES.fullmatch(line)}, ids


class _Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _official(root: Path) -> list[str]:
    checker = importlib.import_module("mlperf_logging.package_checker.package_checker")
    logs = importlib.import_module("mlperf_logging.compliance_checker.mlp_compliance")
    said, logger, silence = _Lines(), logging.getLogger(), io.StringIO()
    handlers, level = logger.handlers[:], logger.level
    logger.handlers[:] = [said]
    logger.setLevel(logging.WARNING)
    logs.enqueued_configs.clear()
    options = (False, False, False, False, False, "")
    with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checker.check_training_package(str(root), USAGE, f"{ROUND}.0", *options)
        except (Exception, SystemExit) as error:  # it ends in any of them
            said.lines.append(f"{type(error).__name__}: {error}")
        finally:
            logs.enqueued_configs.clear()
            logger.handlers[:] = handlers
            logger.setLevel(level)
    names = subprocess.run(
        [sys.executable, "-m", "mlperf_logging.repo_checker", root.name, USAGE, f"{ROUND}.0"],
        cwd=root.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return [*said.lines, names.stderr]


def _generic(line: str, root: Path) -> str:
    line = line.replace(str(root), "…").strip()
    line = re.sub(r"(?:…|\b\w+)?(?:/[\w.-]+)+", "…", line)
    line = re.sub(r"(\b(?:of|for) )'\w+'", r"\1'KEY'", line)
    return re.sub(r"-?\b\d+(?:\.\d+)?\b", "N", line)


def _family(rule: str, key: str | None) -> str:
    if key and rule.endswith(f".{key}"):
        rule = f"{rule.removesuffix(key)}KEY"
    return rule.replace(f".{BENCHMARK}.", ".BENCHMARK.")
