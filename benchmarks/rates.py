"""How often each rule fires on published submissions, for `podium rules explain` and the pages.

    python benchmarks/rates.py CORPUS [--output FILE]

CORPUS contains folders of published rounds, such as training_results_v5.0. Each round is checked
with the policy profile and reviewed without earlier rounds; a finding of any severity counts unless
it is waived. For each rule, the results or submissions on which it fires are counted, and those to
which it applies: those of the rounds that have the rule, of its division and benchmark. The corpus
has no code, so rules on code and repositories have no rates. Writes compliance/rulebook/rates.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from podium.compliance.judging.options import Options
from podium.compliance.reporting.data import Outcome, ResultEntry
from podium.compliance.rulebook import rates
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.tables.rule import Rule
from podium.compliance.rulebook.tables.tables import tables
from podium.compliance.tools.review.anomalies.every import anomalies
from podium.compliance.tools.review.material import read_round
from podium.rules.catalogue import USAGES, find_round
from podium.rules.checks import Check
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round

OF_RESULTS = ("log", "result", "seeds", "power", "rcp", "throughput", "review")
"""Families of rules about one result or its logs, for any benchmark."""

OF_SUBMISSIONS = ("system", "tree", "params")
"""Families of rules about a submission as a whole."""

OF_DESCRIPTIONS = ("review.description-changes",)
"""Rules of other families that are also about a submission."""

WITHOUT_CODE = (
    *("seeds.source", "seeds.source-line"),
    *("review.config-disagrees", "review.shared-code", "review.opaque-file"),
)
"""Families of rules that need the code."""


@dataclass
class Measured:
    """Results and submissions by rule: those on which it fires, and those to which it applies."""

    results: int = 0
    submissions: int = 0
    rounds: list[str] = field(default_factory=list)
    fired: dict[str, Counter[str]] = field(
        default_factory=lambda: {"results": Counter(), "submissions": Counter()}
    )
    judged: dict[str, Counter[str]] = field(
        default_factory=lambda: {"results": Counter(), "submissions": Counter()}
    )

    def add(self, rules: Round, report: Outcome) -> None:
        """Add a round's report."""
        self.rounds.append(rules.title)
        self.results += len(report.results)
        self.submissions += len(report.submissions)
        ids = ids_by_place(report)
        for rule in all_rules(rules):
            unit = unit_of(rule)
            if not unit:
                continue
            places = [
                entry.path
                for entry in getattr(report, unit)
                if unit == "submissions" or is_about(rules, rule, entry)
            ]
            self.judged[unit][rule.id] += len(places)
            self.fired[unit][rule.id] += sum(rule.id in ids.get(place, ()) for place in places)

    def to_dict(self) -> dict[str, object]:
        """The content of rates.json."""
        source = (
            f"{self.results} results of {self.submissions} published submissions, from "
            f"{' and '.join(self._spans())}, in the policy profile, including notes"
        )
        found: dict[str, object] = {"source": source}
        for unit, judged in self.judged.items():
            found[unit] = {
                rule: [self.fired[unit][rule], count]
                for rule, count in sorted(judged.items())
                if count
            }
        return found

    def _spans(self) -> Iterator[str]:
        """The rounds of each suite, from the first to the last."""
        for usage in USAGES:
            names = [name for suite, name in map(str.split, self.rounds) if suite == usage]
            if names:
                yield f"{usage} {names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "")


def ids_by_place(report: Outcome) -> dict[str, set[str]]:
    """Ids of findings by the path of the result, and of the submission, that contains them."""
    ids: dict[str, set[str]] = {}
    # The longest first: a result of `a/b` is not a result of `a`
    places = [
        sorted((entry.path for entry in entries), key=len, reverse=True)
        for entries in (report.results, report.submissions)
    ]
    for finding in report.findings:
        if finding.waived:
            continue
        for paths in places:
            place = next((each for each in paths if within(finding.path, each)), None)
            if place is not None:
                ids.setdefault(place, set()).add(finding.id)
    return ids


def within(path: str, folder: str) -> bool:
    """Whether a path is a folder, or inside it."""
    return folder == "." or path == folder or path.startswith(f"{folder}/")


def unit_of(rule: Rule) -> str:
    """The unit of a rule: results or submissions; empty if it is not counted."""
    if not isinstance(rule.source, FixedRule):
        return "results"
    if rule.table in OF_SUBMISSIONS or rule.id in OF_DESCRIPTIONS:
        return "submissions"
    return "results" if rule.table in OF_RESULTS and rule.id not in WITHOUT_CODE else ""


def is_about(rules: Round, rule: Rule, result: ResultEntry) -> bool:
    """Whether a rule of a round applies to this result."""
    if isinstance(rule.source, Check):
        return not rule.source.divisions or result.division in rule.source.divisions
    if isinstance(rule.source, FixedRule):
        return True
    table = tables(rules)[rule.table]
    return table.division in ("", result.division) and table.benchmark in ("", result.benchmark)


def rounds_in(corpus: Path) -> Iterator[tuple[Round, Path]]:
    """The rounds in a corpus, oldest first, training before HPC."""
    for usage in USAGES:
        for folder in sorted(corpus.glob(f"{usage}_results_v*")):
            yield find_round(usage, folder.name.rpartition("_v")[2]), folder


def measure(corpus: Path) -> Measured:
    """Check every round of a corpus."""
    measured = Measured()
    for rules, folder in rounds_in(corpus):
        material = read_round(folder, (), Options(usage=rules.usage, round=rules.name))
        findings = [*material.outcome.findings, *anomalies(material)]
        measured.add(rules, replace(material.outcome, findings=findings))
    return measured


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure a corpus, and write the rates."""
    parser = argparse.ArgumentParser(description="How often each rule fires.")
    parser.add_argument("corpus", type=Path)
    beside = Path(rates.__file__).resolve().with_name("rates.json")
    parser.add_argument("--output", type=Path, default=beside)
    given = parser.parse_args(None if arguments is None else [*arguments])
    text = json.dumps(measure(given.corpus).to_dict(), indent=1)
    # One rule per line: [fired, judged] need not span four
    text = text.replace("[\n   ", "[").replace(",\n   ", ", ").replace("\n  ]", "]")
    given.output.write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
