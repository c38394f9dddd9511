"""What the default profile warns of in accepted submissions: the figures of docs/alarms.md.

    python benchmarks/alarms.py CORPUS

CORPUS holds folders of rounds, such as training_results_v5.0, as they were published. Waived
findings do not count, nor those that follow from another, nor those about code, which the corpus
has none of.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from podium import check
from podium.compliance.reporting.models import Finding, Report

ABOUT_CODE = ("code.", "repo.", "seeds.source", "tree.no-code")
FEW = 3
"""Warnings that a reader of one submission can be asked to look at."""


@dataclass
class Alarms:
    """Warnings by rule; of each submission its causes, which are (rule, result or submission)."""

    warnings: Counter[str] = field(default_factory=Counter)
    causes: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)

    def add(self, name: str, report: Report) -> None:
        """Add the report on a round's folder."""
        submissions = [each.path for each in report.submissions]
        results = [each.path for each in report.results]
        for path in submissions:
            self.causes[name, path] = set()
        for finding in counted(report.findings):
            home = enclosing(finding.path, submissions)
            if finding.severity == "warning":
                self.warnings[finding.id] += 1
                if home is not None:
                    result = enclosing(finding.path, results)
                    self.causes[name, home].add((finding.id, result or home))
        for each in report.submissions:
            if each.verdict != "accepted":
                errors = Counter(
                    finding.id
                    for finding in counted(report.findings)
                    if finding.severity == "error"
                    and enclosing(finding.path, submissions) == each.path
                )
                listed = ", ".join(f"{rule} ({count})" for rule, count in errors.most_common())
                official = f"the official verifier: {each.official_verdict or 'none'}"
                self.rejected.append(f"{name}/{each.path}: {listed}; {official}")

    def lines(self) -> Iterator[str]:
        """The figures, as text."""
        numbers = [len(causes) for causes in self.causes.values()]
        yield f"{self.warnings.total()} warnings in {len(numbers)} submissions"
        yield f"median of a submission, by rule and result: {statistics.median(numbers):g}"
        yield f"at most {FEW}: {sum(number <= FEW for number in numbers)}; most: {max(numbers)}"
        yield from (f"  {rule:44} {count:6}" for rule, count in self.warnings.most_common())
        yield f"{len(self.rejected)} rejected"
        yield from (f"  {each}" for each in self.rejected)


def counted(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Those that say something of their own, and of what the corpus has."""
    for each in findings:
        if not (each.waived or each.caused_by or each.id.startswith(ABOUT_CODE)):
            yield each


def enclosing(path: str, folders: Iterable[str]) -> str | None:
    """The folder that a path lies in."""
    return next(
        (each for each in folders if each == "." or f"{path}/".startswith(f"{each}/")), None
    )


def main() -> None:
    """Check each round of the corpus and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path)
    corpus: Path = parser.parse_args().corpus
    if not corpus.is_dir():
        parser.error(f"{corpus}: no such folder")
    alarms = Alarms()
    for folder in sorted(each for each in corpus.iterdir() if each.is_dir()):
        alarms.add(folder.name, check(folder))
    sys.stdout.writelines(f"{line}\n" for line in alarms.lines())


if __name__ == "__main__":
    main()
