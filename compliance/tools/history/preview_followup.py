"""Systems that an earlier round previewed: they must become available and be as fast.

Source: submission rules, Preview Systems (2.0 and later). At least one benchmark that can be
compared between both rounds must be submitted on the available system, at the smallest and the
largest scale previewed. It may lose at most 2 %: in time at the same or a larger scale, in time
times accelerators at a smaller one. If both were measured, performance per power counts instead;
it is inversely proportional to the energy of a run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec

from podium.compliance.judging.inputs.layout import Tree
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.systems.fields import Category
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.text.words import join_limited
from podium.compliance.tools.history.history_rules import NOT_COMPARABLE, NOT_FOLLOWED, SLOWER
from podium.compliance.tools.history.prior_submission import Earlier, EarlierResult
from podium.compliance.tools.history.scale import hardware as hardware_of
from podium.compliance.tools.history.scale import scale as scale_of
from podium.rules.finding import Finding
from podium.rules.model.benchmark import Benchmark
from podium.rules.model.round import Round

# The rules state the share since 5.1; before, they require the same performance
MOST_LOST = 0.02
"""The largest share of the previewed performance that may be lost."""

# In floating point 1.02 - 1 is more than 0.02, and exactly 2 % must pass
_ROUNDING = 1e-9

_AVAILABLE = (Category.ON_PREMISE, Category.CLOUD, Category.AVAILABLE)


class _Timed(msgspec.Struct, frozen=True):
    """A result with a score: its minutes, its scale in accelerators (or nodes), and its round.

    `joules` is the energy of a run, None if it was not measured.
    """

    title: str
    display_path: str
    benchmark: str
    division: str
    scale: int
    minutes: float
    joules: float | None = None

    def lost_to(self, preview: _Timed) -> tuple[float, str]:
        """The share that it takes more than the preview (negative: less), and the quantity."""
        if self.joules is not None and preview.joules:
            return self.joules / preview.joules - 1, "energy"
        ratio = self.minutes / preview.minutes
        # Size does not excuse a larger system: its time must be as good
        if self.scale >= preview.scale:
            return ratio - 1, "time"
        return ratio * self.scale / preview.scale - 1, "time on all accelerators together"

    def taken(self) -> str:
        """The time, energy and scale, for a message."""
        energy = "" if self.joules is None else f" and {self.joules / 1e6:.4g} MJ"
        return f"{self.minutes:.4g} min{energy} at scale {self.scale}"


def followed(
    tree: Tree, results: Sequence[ResultVerdict], earlier: Earlier, context: JudgingContext
) -> Iterator[Finding]:
    """Findings about the systems that this submitter previewed in an earlier round."""
    if not context.rules.package.preview_follow_up:
        return
    previews = _previews(earlier, tree, context.rules)
    if not previews:
        return
    available = _available(tree, results, context)
    for hardware, previewed in previews.items():
        successors = [
            timed for name, timed in available.items() if hardware in name or name in hardware
        ]
        yield from _followed(
            previewed, [*chain(*successors)] if successors else None, tree, context
        )


def _previews(earlier: Earlier, tree: Tree, rules: Round) -> dict[str, list[EarlierResult]]:
    """The results previewed in earlier rounds, by hardware."""
    previews: dict[str, list[EarlierResult]] = defaultdict(list)
    for result in earlier.results:
        before = result.rules.usage == rules.usage and result.rules.version < rules.version
        # The rules compare times, or times multiplied by chips; throughput is neither
        if not before or result.scaling == "weak" or result.description is None:
            continue
        hardware = hardware_of(result.description)
        if (
            hardware
            and result.description.category is Category.PREVIEW
            and same_organization(result.submitter, tree.submitter)
        ):
            previews[hardware].append(result)
    return previews


def _available(
    tree: Tree, results: Sequence[ResultVerdict], context: JudgingContext
) -> dict[str, list[_Timed]]:
    """The scored results of available systems, by hardware."""
    available: dict[str, list[_Timed]] = {}
    for verdict in results:
        folder = verdict.folder
        description = verdict.result.description
        if description is None or description.category not in _AVAILABLE:
            continue
        hardware = hardware_of(description)
        if not hardware:
            continue
        # Kept even without a score: a system without results is not a missing system
        timed = available.setdefault(hardware, [])
        score = verdict.result.score
        scale, minutes = scale_of(description), score.score
        if scale and minutes is not None and folder.scaling == "strong":
            entry = _Timed(
                title=context.rules.title,
                display_path=tree.place(folder.path),
                benchmark=folder.benchmark,
                division=verdict.result.described_division,
                scale=scale,
                minutes=minutes,
                joules=score.scaled(verdict.result.energy),
            )
            timed.append(entry)
    return available


def _followed(
    previewed: list[EarlierResult],
    available: list[_Timed] | None,
    tree: Tree,
    context: JudgingContext,
) -> Iterator[Finding]:
    first = previewed[0]
    comparable = [timed for result in previewed if (timed := _comparable(result, context.rules))]
    slower: list[Finding] = []
    for benchmark in dict.fromkeys(entry.benchmark for entry in comparable):
        own_results = [entry for entry in available or () if entry.benchmark == benchmark]
        pairs = [
            *_pairs([entry for entry in comparable if entry.benchmark == benchmark], own_results)
        ]
        slower_pairs = [
            (then, now) for then, now in pairs if now.lost_to(then)[0] > MOST_LOST + _ROUNDING
        ]
        if pairs and not slower_pairs:
            return  # one benchmark is enough
        slower += [_slower(then, now, context) for then, now in slower_pairs]
    if slower:
        yield from slower
        return
    names = join_limited(sorted({entry.benchmark for entry in comparable or previewed}))
    values: dict[str, Any] = {
        "system": first.system,
        "title": first.rules.title,
        "path_then": first.display_path,
    }
    # A missing system has no file to point at
    location, profile = tree.place("systems"), context.profile
    # A retired benchmark is not a fault: the submitter shows the performance privately
    if available is not None and not comparable:
        now = context.rules.title
        yield NOT_COMPARABLE.found(profile, location, **values, names=names, now=now)
        return
    problem = f"its available system has no scored result of {names}"
    if available is None:
        problem = "no available system of this submission has its hardware; must be available by "
        problem += "the next submission, or by the first one after 140 days"
    yield NOT_FOLLOWED.found(profile, location, **values, problem=problem)


def _comparable(result: EarlierResult, rules: Round) -> _Timed | None:
    """The result, if it has a score and the later round has its benchmark with the same target."""
    scale = scale_of(result.description)
    then = result.rules.benchmarks.get(result.benchmark)
    # A benchmark may have been renamed, as gnn became rgat
    now = None if then is None else _today(then, rules)
    if then is None or now is None:
        return None
    # With another target, the two times measure different tasks
    old, new = then.quality, now.quality
    if (
        not scale
        or result.minutes is None
        or (old.some if old else ()) != (new.some if new else ())
    ):
        return None
    return _Timed(
        title=result.rules.title,
        display_path=result.display_path,
        benchmark=now.name,
        division=result.division,
        scale=scale,
        minutes=result.minutes,
        joules=result.joules,
    )


def _today(then: Benchmark, rules: Round) -> Benchmark | None:
    """The benchmark of the later round with which results of an earlier one are compared."""
    benchmarks = (rules.benchmarks[name] for name in rules.listed)
    return next((benchmark for benchmark in benchmarks if benchmark.lineage == then.lineage), None)


def _pairs(previewed: list[_Timed], own_results: list[_Timed]) -> Iterator[tuple[_Timed, _Timed]]:
    """The smallest and the largest previewed result, each with the result to compare it with."""
    ordered = sorted(previewed, key=_SCALE)
    # A single preview is both smallest and largest: as a key it is compared once
    for then, pick in {ordered[-1]: max, ordered[0]: min}.items():
        same_division = [entry for entry in own_results if entry.division == then.division]
        same = [entry for entry in same_division if entry.scale == then.scale]
        if same_division:
            # Of several results at one scale, the fastest shows the performance of the system
            yield then, min(same, key=_MINUTES) if same else pick(same_division, key=_SCALE)


_SCALE, _MINUTES = attrgetter("scale"), attrgetter("minutes")


def _slower(then: _Timed, now: _Timed, context: JudgingContext) -> Finding:
    share, quantity = now.lost_to(then)
    limit = f"at most {then.minutes * (1 + MOST_LOST):.4g} min" if quantity == "time" else ""
    return SLOWER.found(
        context.profile,
        now.display_path,
        now=f"{now.benchmark} takes {now.taken()}",
        title=then.title,
        then=then.taken(),
        path_then=then.display_path,
        lost=share,
        what=quantity,
        most=MOST_LOST,
        limit=limit,
        minutes=round(now.minutes, 4),
    )
