"""Warnings of the default profile in accepted submissions, for docs/measurements/alarms.md.

    python benchmarks/alarms.py CORPUS

CORPUS contains folders of published rounds, such as training_results_v5.0. Waived findings do not
count, nor do consequences of others, nor those about code, which the corpus does not contain.
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
"""Number of warnings that a reader of one submission can be expected to read."""


@dataclass
class Alarms:
    """Warnings by rule; for each submission its causes, as (rule, result or submission)."""

    warnings: Counter[str] = field(default_factory=Counter)
    causes: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)

    def add(self, name: str, report: Report) -> None:
        """Add the report of a round's folder."""
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
    """Findings that are not consequences of others, and not about missing code."""
    for each in findings:
        if not (each.waived or each.caused_by or each.id.startswith(ABOUT_CODE)):
            yield each


def enclosing(path: str, folders: Iterable[str]) -> str | None:
    """The folder that contains a path."""
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
