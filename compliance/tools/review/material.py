"""A round read once: the check's report, every result with its runs, and earlier rounds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.discovery import discover
from podium.compliance.judging.logs.trace import Trace
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.pipeline import check_inputs, judge_paths
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.reporting.data import Outcome
from podium.compliance.tools.history.comparators import comparisons
from podium.compliance.tools.history.prior_submission import Earlier as EarlierTrees
from podium.compliance.tools.history.prior_submission import add_tree
from podium.compliance.tools.review.code.round_code import RoundCode, code_of, read_code
from podium.compliance.tools.scoring.session import results_of

NO_TRACE = Trace()


class Earlier(msgspec.Struct, frozen=True):
    """The results of an earlier round, and its name in a review.

    A review is sent to others, so that it must not contain paths of the reviewer's machine.
    """

    name: str
    results: list[Result]
    code: RoundCode = RoundCode()

    def place(self, display_path: str) -> str:
        """A path in the earlier round as a report shows it."""
        return f"{self.name}, {display_path}"


class Home(msgspec.Struct, frozen=True):
    """One submission: its submitter, its folder, and the path that a report shows."""

    submitter: str
    root: Path
    path: str


class Material(msgspec.Struct, frozen=True):
    """The input of the search for anomalies."""

    outcome: Outcome
    results: list[Result]
    homes: list[Home]
    earlier: list[Earlier]
    code: RoundCode = RoundCode()

    def timed(self) -> Iterator[Result]:
        """The results that are timed; instances of a throughput result share a system."""
        return (result for result in self.results if not result.weak)


def trace(run: Run) -> Trace:
    """The trace of a run; empty if its log has none."""
    return run.facts.trace or NO_TRACE


def read_round(
    path: Path, earlier: Sequence[Path], options: Options, progress: Progress | None = None
) -> Material:
    """Read a round, each of its logs once, and the rounds before it.

    Raises ComplianceError if a path has nothing to judge.
    """
    inputs = discover([path], options, with_facts=True, with_trace=True)
    trees = EarlierTrees()
    names = {choice.rules.title for choice in inputs.choices}
    before = []
    for folder in earlier:
        before.append(_read_earlier(folder, options, trees, names))
        names.add(before[-1].name)
    compared = comparisons(trees) if earlier else []
    outcome, files = check_inputs(inputs, options, progress, comparators=compared)
    submitters = {entry.path: entry.submitter for entry in outcome.submissions}
    homes = [
        Home(
            submitters.get(package.display_path or ".", package.root.name),
            package.root,
            package.display_path,
        )
        for package in inputs.packages
        if not package.scope
    ]
    return Material(outcome, [*results_of(files, options)], homes, before, code_of(inputs))


def _read_earlier(
    path: Path, options: Options, trees: EarlierTrees, names: Collection[str]
) -> Earlier:
    # Each is judged by the round that it names
    own_options = replace(options, round=None)
    files = judge_paths([path], own_options, with_trace=True)
    results = [*results_of(files, own_options)]
    titles = {result.rules.title for result in results}
    # Such as this round as it was first submitted
    name = titles.pop() if len(titles) == 1 and not titles & {*names} else path.resolve().name
    add_tree(trees, path, files, own_options, f"{name}, ")
    return Earlier(name, results, read_code(path, own_options))
