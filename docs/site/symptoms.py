"""Write `docs/symptoms.md`: messages of the official tools, and the rules that podium reports.

The page is the result of an experiment. A submission without faults is broken in each way that the
rules have an example of. Each key of its logs is removed, repeated or given another value. Then the
official tools and podium check it. Their new messages and its new findings make a row.

Run `python docs/site/symptoms.py` after a change of rules. It needs the test tools (`make setup`).
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

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "symptoms.md"
sys.path[:0] = [str(ROOT / "src"), str(ROOT), str(Path(__file__).parent)]

from commands import plain  # noqa: E402 - found by the path set above

from podium.compliance import check  # noqa: E402
from podium.compliance.rulebook.fixed_rules import FIXED_RULES  # noqa: E402
from podium.rules.fixed.edits import RESULT, Edit, drop, set_to  # noqa: E402
from tests.builders import build  # noqa: E402
from tests.compliance.edits import apply  # noqa: E402
from tests.compliance.rulebook.cases import early  # noqa: E402
from tests.compliance.trees import usual  # noqa: E402

USAGE, ROUND = "training", "5.1"
BENCHMARK = "llama31_405b"
LOG = f"{RESULT}/result_0.txt"
MANY = 5
"""A message that accompanies more rules than this identifies none of them."""
Maker = Callable[[Path], Path]
"""Makes a submission in a folder and returns its root."""
VAGUE = "several: see the line before it in the output"
CONSEQUENCE = re.compile(r"rcp\.failed|result\.too-many-failed-runs|seeds\.unreadable-log")
"""Rules that a result violates because its logs violate others."""

HEAD = """---
search:
  boost: 500
---
# Find a rule by an official message

This page lists messages of `mlperf-logging` and the rules with which podium reports the same fault.
Search it for a part of the message that contains no name, number or path. N stands for a number,
KEY for a key of the log, and … for a path or a value. `podium rules explain ID` explains a rule.

The table covers training 5.1. It is generated: `python docs/site/symptoms.py` applies the examples
of all rules to a complete submission, and checks each with both tools.

| message of the official tools | rules of podium |
|---|---|
"""

_VALUES = re.compile(r"[^A-Za-z^]*|\W*\".*|current .*|Run N/N|:::MLLOG .*|triggered by line:")
"""Lines that show logged values or the text of rules."""


def page() -> str:
    """Return the page, with rows sorted by message."""
    seen = defaultdict[str, Counter[str]](Counter)
    usual_lines, usual_ids = judged(edited())
    for broken, wanted in breakages():
        lines, ids = judged(broken)
        for line in lines - usual_lines:
            # An edit may violate more rules than the one that it is an example of
            seen[line].update(({wanted} if wanted else ids) - usual_ids)
    rows = []
    for line, rules in sorted(seen.items()):
        if rules:
            ordered = sorted(rules, key=lambda rule: (-rules[rule], rule))
            ids = ", ".join(f"`{rule}`" for rule in ordered)
            rows.append(f"| {plain(line)} | {ids if len(rules) <= MANY else VAGUE} |\n")
    return HEAD + "".join(rows)


def edited(*edits: Edit) -> Maker:
    """Return a maker of the complete submission with these edits."""
    return lambda place: apply(usual(place).root, edits)


def breakages() -> Iterator[tuple[Maker, str]]:
    """Yield submissions that the verifier profile rejects, with the rule if it is known."""
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
    """Return the messages of the official tools and the ids of the rules that podium reports."""
    with tempfile.TemporaryDirectory() as place:
        root = broken(Path(place))
        lines = {_generic(line, root) for text in _official(root) for line in text.splitlines()}
        report = check(root, usage=USAGE, round=ROUND, profile="verifier")
        found = [each for each in report.findings if not each.caused_by]
        ids = {_family(each.id, each.key) for each in found if not CONSEQUENCE.fullmatch(each.id)}
        return {line for line in lines if not _VALUES.fullmatch(line)}, ids


class _Lines(logging.Handler):
    """Collects log messages."""

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
        except (Exception, SystemExit) as error:  # the checker raises any of them
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
    line = re.sub(r"(\b(?:of|for|or) )'\w+'", r"\1'KEY'", line)
    return re.sub(r"-?\b\d+(?:\.\d+)?\b", "N", line)


def _family(rule: str, key: str | None) -> str:
    if key and rule.endswith(f".{key}"):
        rule = f"{rule.removesuffix(key)}KEY"
    return rule.replace(f".{BENCHMARK}.", ".BENCHMARK.")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
