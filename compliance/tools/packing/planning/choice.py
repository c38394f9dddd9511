"""Choose the logs of a result: no run twice, one experiment, one window of many runs.

The policy allows a group of more runs than needed: among all windows of N consecutive runs in
order of launch, the window with the median score is submitted (training rules, Scoring). Runs that
did not converge stay in their window and count as its slowest runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.benchmark_names import benchmark_called
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.results.consistency import canonical_text, shortened
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.score import median_window
from podium.compliance.judging.submission.copies import copies
from podium.compliance.text.words import join_limited
from podium.compliance.tools.packing.planning.config import ResultConfig
from podium.compliance.tools.packing.planning.sources import LeftOut, Source, same_content
from podium.rules.finding import Profile
from podium.rules.model.round import Round


@dataclass(frozen=True, slots=True)
class Candidate:
    """A log to choose from, with the facts of its run; `errors` are the rules that it violates."""

    source: Source
    facts: Facts | None = None
    errors: tuple[str, ...] = ()
    judged: FileVerdict | None = None

    @property
    def launched(self) -> tuple[float, str]:
        """The key by which runs are sorted: time of launch, then path."""
        start = None if self.facts is None else self.facts.run.start_ms
        # The path breaks ties, so that the order of the input files does not matter
        return (math.inf if start is None else start, self.source.display_path)


@dataclass(slots=True)
class Choice:
    """The chosen logs of one result in order of launch, the pruned logs, and the other logs."""

    taken: list[Candidate] = field(default_factory=list)
    pruned: list[Candidate] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    note: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Chooser:
    """Chooses among the candidates of a result; an empty `division` accepts any division."""

    rules: Round
    division: str = ""

    def choose(
        self, result: ResultConfig, candidates: Sequence[Candidate], copied: Mapping[str, str]
    ) -> Choice:
        """Choose the logs of a result; `copied` maps each copied log to the reason."""
        choice = Choice()
        usable = []
        for candidate in sorted(candidates, key=lambda candidate: candidate.launched):
            reason = self._unfit(result, candidate) or copied.get(candidate.source.display_path, "")
            if reason:
                choice.left_out.append(LeftOut(candidate.source.display_path, reason, refused=True))
            else:
                usable.append(candidate)
        usable = _of_one_kind(usable, choice)
        if result.scaling == "weak":
            self._instances(usable, choice)
        else:
            self._runs(result, usable, choice)
        return choice

    def _unfit(self, result: ResultConfig, candidate: Candidate) -> str:
        """The reason why a log cannot belong to this result; empty if it can."""
        facts = candidate.facts
        if facts is None or (facts.run.benchmark is None and facts.run.start_ms is None):
            return "it is not the log of a run: it has neither submission_benchmark nor run_start"
        logged_benchmark = facts.run.benchmark
        # A log without a benchmark name is chosen: the gate reports the missing record
        if (
            logged_benchmark
            and logged_benchmark != result.benchmark
            and not self._means(logged_benchmark, result.benchmark)
        ):
            return f"its submission_benchmark is {logged_benchmark}, not {result.benchmark}"
        if self.division and facts.run.division and facts.run.division != self.division:
            return f"its submission_division is {facts.run.division}, not {self.division}"
        if facts.run.start_ms is None:
            return "it has no run_start: the run never began"
        return ""

    # Folder and log may name one benchmark differently, as in rounds that renamed it
    def _means(self, logged_benchmark: str, benchmark: str) -> bool:
        called = benchmark_called(logged_benchmark, self.rules)
        return bool(called) and called == benchmark_called(benchmark, self.rules)

    def _instances(self, usable: list[Candidate], choice: Choice) -> None:
        """Throughput: prune instances that did not converge; submit their logs separately."""
        for candidate in usable:
            assert candidate.facts is not None
            (choice.taken if candidate.facts.run.converged else choice.pruned).append(candidate)
        if choice.pruned:
            choice.note = (
                f"{len(choice.pruned)} of {len(usable)} instances did not converge: pruned"
            )

    def _runs(self, result: ResultConfig, usable: list[Candidate], choice: Choice) -> None:
        benchmark = benchmark_called(result.benchmark, self.rules) or result.benchmark
        benchmark_rules = self.rules.benchmark(benchmark)
        needed = benchmark_rules.runs
        choice.taken = usable
        if len(usable) <= needed or result.runs == "all":
            choice.note = (
                f"{len(usable)} runs; {needed} are needed" if len(usable) != needed else ""
            )
        # NCF in 0.5: of 100 runs the first 50 that converge are scored
        elif benchmark_rules.first_converging:
            self._first(usable, needed, choice)
        # Rounds without this rule leave the choice to the submitter
        elif self.rules.package.median_window:
            self._window(usable, needed, benchmark_rules.dropped, choice)
        else:
            choice.problem = (
                f"there are {len(usable)} runs and {needed} are needed; {self.rules.title} has no "
                "rule for choosing runs: name the runs in `names`, or exclude the others"
            )

    def _window(self, usable: list[Candidate], needed: int, dropped: int, choice: Choice) -> None:
        runs = [candidate.facts.run for candidate in usable if candidate.facts is not None]
        _, outside = median_window(runs, needed, dropped)
        choice.taken = [candidate for index, candidate in enumerate(usable) if index not in outside]
        choice.left_out += [
            LeftOut(usable[index].source.display_path, reason) for index, reason in outside.items()
        ]
        first = usable.index(choice.taken[0]) + 1
        choice.note = (
            f"{needed} of {len(usable)} runs: the window with the median score, from run {first}, "
            f"among {len(usable) - needed + 1} windows of {needed} consecutive runs; "
            "keep the other logs, because reviewers may ask for them"
        )

    def _first(self, usable: list[Candidate], needed: int, choice: Choice) -> None:
        counting = [
            candidate
            for candidate in usable
            if candidate.facts is not None and candidate.facts.run.counts
        ]
        last = usable.index(counting[needed - 1]) if len(counting) >= needed else len(usable) - 1
        choice.note = f"all {len(usable)} runs; the first {needed} that converge are scored"
        choice.taken = usable
        if len(counting) > needed:
            choice.note += f" (to run {last + 1})"


def _of_one_kind(usable: list[Candidate], choice: Choice) -> list[Candidate]:
    """The runs with the most frequent settings; the others are refused.

    If no settings are the most frequent, all runs are kept and the choice has a problem.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Candidate]] = {}
    for candidate in usable:
        groups.setdefault(_settings(candidate), []).append(candidate)
    if len(groups) < 2:
        return usable
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    (usual_settings, most), (_, second) = ranked[0], ranked[1]
    # Only the submitter knows which of two equally large groups is the experiment
    if len(most) == len(second):
        choice.problem = (
            f"{len(groups)} sets of hyperparameters, and no set has the most runs "
            f"({_difference(ranked[1][0], usual_settings)}): exclude the runs that do not belong"
        )
        return usable
    for settings, others in ranked[1:]:
        for candidate in others:
            difference = _difference(settings, usual_settings)
            reason = f"hyperparameters differ from the {len(most)} chosen runs: {difference}"
            choice.left_out.append(LeftOut(candidate.source.display_path, reason, refused=True))
    return most


def _settings(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    assert candidate.facts is not None
    return tuple(
        sorted(
            (key, canonical_text(value))
            for key, value in candidate.facts.settings.as_dict().items()
        )
    )


def _difference(
    settings: tuple[tuple[str, str], ...], usual_settings: tuple[tuple[str, str], ...]
) -> str:
    values, usual_values = dict(settings), dict(usual_settings)
    differences = [
        f"{key} is {shortened(values.get(key, 'absent'))}, "
        f"not {shortened(usual_values.get(key, 'absent'))}"
        for key in sorted({*values, *usual_values})
        if values.get(key) != usual_values.get(key)
    ]
    return join_limited(differences, 3)


def find_copies(candidates: Sequence[Candidate], rules: Round) -> dict[str, str]:
    """The logs that are copies of others, by path, with the reason.

    The original is the log with the first launch, or with the first path if launches are equal.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.launched)
    runs = [
        (candidate.source.display_path, candidate.facts)
        for candidate in ordered
        if candidate.facts is not None
    ]
    reasons = {
        # Compares records, because the official checker accepts ten copies with different seeds
        finding.path: f"a copy: {finding.message}"
        for finding in copies(runs, JudgingContext(rules, Profile.POLICY))
    }
    # Equal bytes have equal launches: most logs of one size need no comparison
    groups: dict[tuple[float, int], list[Candidate]] = {}
    for candidate in ordered:
        peers = groups.setdefault((candidate.launched[0], candidate.source.size), [])
        same = next(
            (other for other in peers if same_content(other.source, candidate.source)), None
        )
        if same is None:
            peers.append(candidate)
        else:
            reasons[candidate.source.display_path] = (
                f"a copy: identical to {same.source.display_path}"
            )
    return reasons
