"""The test of convergence of a result: its runs against the reference convergence points. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from podium.compliance.text.words import distinct, plural, there_are
from podium.rules.catalogue import find_round
from podium.rules.constraints.formula import show
from podium.rules.convergence.data import Point, points_of
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.method import Case, Reference, References, references_of
from podium.rules.convergence.policy_method import POLICY
from podium.rules.convergence.result import Convergence, Fault, Verdict, converged_at, places_of
from podium.rules.convergence.statistics import maximum_speedup, normalisation, trimmed
from podium.rules.convergence.verifier_method import VERIFIER
from podium.rules.finding import Profile
from podium.rules.model.benchmark import ConvergenceRules
from podium.rules.model.round import Round
from podium.rules.quirks import QUIRKS, Quirks


def applies(rules: Round, benchmark: str, division: str | None) -> str:
    """Why a result needs no test of convergence; empty if it needs the test."""
    if not rules.benchmark(benchmark).convergence.tested:
        return f"{benchmark} has no reference convergence points"
    # Compared as spelled: for the official tools `Closed` is another division, and is not tested
    if division is not None and division != "closed":
        return f"the {division or 'unnamed'} division is not tested for convergence"
    if not rules.package.tests_convergence:
        return f"{rules.title} has no reference convergence points"
    return ""


def references(
    profile: Profile, rules: Round, benchmark: str, points: Sequence[Point] | None = None
) -> References:
    """The references of a benchmark in a profile, from `points` if they are given."""
    if points is None:
        return _packaged(profile, rules.usage, rules.name, benchmark)
    runs, dropped = rules.benchmark(benchmark).runs, rules.benchmark(benchmark).dropped
    arithmetic = VERIFIER if profile is Profile.VERIFIER else POLICY
    # A point with fewer values has no mean after its ends are dropped
    usable_points = [point for point in points if len(point.to_converge) > 2 * dropped]
    return references_of(arithmetic, usable_points, runs, dropped)


@cache
def _packaged(profile: Profile, usage: str, round_name: str, benchmark: str) -> References:
    """The references of a round, computed once for all of its results."""
    points = points_of(usage, round_name, benchmark)
    return references(profile, find_round(usage, round_name), benchmark, points)


def judge_convergence(
    rules: Round,
    benchmark: str,
    runs: Sequence[RunFacts],
    profile: Profile,
    *,
    division: str | None = "closed",
    weak: bool = False,
    points: Sequence[Point] | None = None,
    pruned: bool = True,
) -> Convergence:
    """The test of a result, from the facts of its runs, which were read in the same profile.

    `division` None counts as closed. `weak`: instances of HPC's throughput metric, which the policy
    does not test. `points` replace the round's points. Without `pruned` every point is used, as in
    the verifier's full check.
    """
    reason, quirks = applies(rules, benchmark, division), QUIRKS[profile]
    # The official verifier also tests instances, as if they were timed runs
    if not reason and weak and not quirks.tests_instances:
        reason = "the throughput metric is not tested for convergence"
    if reason:
        return Convergence("not_applicable", messages=(reason,))
    if quirks.names_by_logs:
        # The verifier uses the points of the name in the logs, not of the folder's name
        names = {run.benchmark for run in runs if run.benchmark}
        benchmark = names.pop() if len(names) == 1 else benchmark
    reference_points = references(profile, rules, benchmark, points)
    if not pruned:
        reference_points = replace(reference_points, used=reference_points.every)
    facts = rules.benchmark(benchmark)
    return _Judge(
        rules, benchmark, runs, quirks, facts.convergence, facts.dropped, reference_points
    ).judge()


def compared(policy: Convergence, verifier: Convergence) -> Convergence:
    """The policy's test, with the official verifier's test if it differs."""
    if "not_applicable" in (policy.verdict, verifier.verdict):
        return policy
    equal = math.isclose(policy.scaling_factor, verifier.scaling_factor, rel_tol=1e-9)
    if policy.verdict == verifier.verdict and policy.case == verifier.case and equal:
        return policy
    official, factor = distinct(verifier.scaling_factor, policy.scaling_factor)
    message = (
        f"the official verifier's arithmetic gives {verifier.verdict} ({verifier.case}), "
        f"factor {official}; the policy's {policy.verdict} ({policy.case}), factor {factor}"
    )
    return replace(policy, other=verifier, messages=(*policy.messages, message))


class _Judge(msgspec.Struct):
    """The steps of one test, each of which may end it."""

    round: Round
    benchmark: str
    runs: Sequence[RunFacts]
    quirks: Quirks
    rules: ConvergenceRules
    drop: int
    known: References
    size: float | None = None
    case: Case = "none"

    def judge(self) -> Convergence:
        """The result of the test."""
        if not self.runs:
            return self._ends("fail", "the result has no runs")
        sizes = {run.batch_size for run in self.runs}
        size = next(iter(sizes))
        if len(sizes) == 1 and size is not None:
            self.size = size
        if crash := self._crash():
            return self._ends("fail", crash, fault="crash")
        if reason := self._mixed():
            return self._ends("fail", reason, fault="mixed")
        failed = sum(not run.converged for run in self.runs)
        if failed > self.drop:
            reason = f"{failed} of {len(self.runs)} runs did not converge; at most {self.drop} may"
            return self._ends("fail", f"{reason}: repeat the set of runs", fault="unfinished")
        if size is None:
            return self._ends("fail", "no run logs global_batch_size: log it once per run")
        self.case, reference = self.known.match(size)
        if reference is None:
            return self._ends("missing", self._missing(size))
        return self._compare(size, reference)

    def _ends(self, verdict: Verdict, message: str, *, fault: Fault = "") -> Convergence:
        return Convergence(
            verdict,
            self.case,
            self.size,
            unit=self.rules.unit,
            runs=places_of(self.runs, self.drop),
            pruned=self.known.pruned,
            messages=(message,),
            fault=fault,
        )

    def _crash(self) -> str:
        """Why the official verifier crashes on the result; empty if it does not."""
        # A crash of the official reader is not a reason for the policy to fail a result
        if not self.quirks.crashes_on_logs:
            return ""
        if len({run.benchmark for run in self.runs}) > 1:
            return "the official verifier crashes on logs of several benchmarks"
        for run in self.runs:
            if run.problem:
                return f"the official verifier crashes on {run.name}: {run.problem}"
        # Its table of runs lacks dlrm, which 1.0 to 2.1 had
        if self.rules.crashes_verifier:
            return f"the official verifier crashes on every result of {self.benchmark}"
        return ""

    def _mixed(self) -> str:
        names = {run.benchmark for run in self.runs}
        if len({run.batch_size for run in self.runs}) > 1:
            sizes: dict[float | None, list[RunFacts]] = {}
            for run in self.runs:
                sizes.setdefault(run.batch_size, []).append(run)
            by_frequency = sorted(sizes.items(), key=lambda item: -len(item[1]))
            size_list = ", ".join(f"{_size(size)} in {_named(runs)}" for size, runs in by_frequency)
            return f"global_batch_size differs between runs ({size_list}); expected one value"
        if len(names) > 1:
            name_list = ", ".join(sorted(str(name) for name in names))
            return f"submission_benchmark differs between runs: {name_list}"
        return ""

    def _missing(self, size: float) -> str:
        subject = f"{self.benchmark} in {self.round.usage} {self.round.name}"
        if not self.known.used:
            reason = f": {self.rules.without_points}" if self.rules.without_points else ""
            return f"no reference convergence points exist for {subject}{reason}"
        largest = self.known.used[-1].batch_size
        return (
            f"batch size {show(size)} is above every reference point of {subject} (the largest is "
            f"{show(largest)}): submit reference runs at {show(size)}"
        )

    def _compare(self, size: float, reference: Reference) -> Convergence:
        values = [converged_at(run, self.known.way.unfinished) for run in self.runs]
        message, needed_runs = "", self.known.needed
        # The official verifier tests any number of runs
        if not self.quirks.counts_all_runs and len(values) < needed_runs:
            message = f"{there_are(len(values), 'run')}; a result needs {needed_runs}"
        if not trimmed(values, self.drop):
            return self._ends(
                "fail",
                f"none of {len(values)} runs is left after the fastest and slowest are dropped",
            )
        submission = self.known.way.mean(values, self.drop)
        # Training rules, v5.0: 405B may converge one evaluation early; the official verifier
        # allows that in every round since
        allowance = self.known.way.allowance(self.rules)
        # From the largest speedup, as the rules define the test
        lowest = reference.mean / maximum_speedup(reference.mean, reference.minimum - allowance)
        passed = submission >= lowest and not message
        # Below the range the smallest point is used: a result that passes is accepted, a result
        # that fails needs its own point
        verdict: Verdict = "pass" if passed else "missing" if self.case == "below_range" else "fail"
        if not passed and not message:
            message = self._too_fast(submission, lowest, size)
        points: tuple[Reference, ...] = (reference,)
        # An interpolated reference is between two points
        if len(reference.ids) > 1:
            points = tuple(point for point in self.known.used if point.ids[0] in reference.ids)
        return Convergence(
            verdict,
            self.case,
            size,
            reference.mean,
            lowest,
            submission,
            # A result that needs longer than the reference is not rewarded: no factor is below 1
            normalisation(reference.mean, submission) if passed else 1.0,
            self.rules.unit,
            reference.deviation,
            allowance,
            points,
            self.known.pruned,
            places_of(self.runs, self.drop),
            (message,) if message else (),
        )

    def _too_fast(self, submission: float, lowest: float, size: float) -> str:
        reached, allowed = distinct(submission, lowest)
        text = (
            f"the runs converge in {reached} {self.rules.unit} on average; the reference points "
            f"require at least {allowed} at batch size {show(size)}"
        )
        if self.case == "below_range":
            return f"{text}: submit reference runs at this batch size"
        return f"{text}: the review committee must decide"


def _size(size: float | None) -> str:
    return "none" if size is None else show(size)


def _named(runs: Sequence[RunFacts]) -> str:
    """The name of one run's file, or the number of several runs."""
    name = runs[0].name.rpartition("/")[2]
    return name if name and len(runs) == 1 else plural(len(runs), "run")
