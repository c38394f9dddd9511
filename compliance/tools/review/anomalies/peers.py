"""Results that stand out among their peers: too fast, off the reference, near its minimum."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.systems.fields import letters
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.model import SpeedEntry
from podium.compliance.tools.review.review_rules import (
    NEAR_MISS,
    OUTLIER_RUN,
    OUTSIDE_BAND,
    TOO_FAST,
    TOO_SLOW,
)
from podium.rules.convergence.spread import MAD_TO_DEVIATION
from podium.rules.finding import Finding, Profile


def robust_z(values: Sequence[float], least: float) -> list[float]:
    """The distance of each value from the median, in deviations estimated by the median distance.

    `least` is the smallest deviation that is assumed, in the unit of the values: equal values do
    not show how far apart the next one may be. The result is empty for no values.
    """
    if not values:
        return []
    middle = median(values)
    distance = median([abs(value - middle) for value in values])
    deviation = max(MAD_TO_DEVIATION * distance, least)
    return [(value - middle) / deviation if deviation else 0.0 for value in values]


_PROFILE = Profile.POLICY

LEAST_PEERS, LEAST_Z, LEAST_TIMES = 5, 3.5, 1.5
"""Minimum number of results that establish a usual speed, and the deviation that is reported."""

BAND = 4.0
"""Standard deviations of the reference below which a run is outside of its band. Slower runs are
frequent and only harm the submitter."""

NEAR = 0.01
"""Share above the minimum within which a result is a near miss."""

EXACT = 1e-9
"""Share above the minimum up to which a result counts as equal to the minimum."""


LEAST_SCATTER = 0.02
"""The smallest deviation of logarithms of speeds that is assumed: 2 %."""


def speed_of(result: Result) -> SpeedEntry | None:
    """The speed of a result: the training of its converged runs divided by their time."""
    description = result.description
    scale = description.accelerators if description is not None else None
    speeds = [
        facts.to_converge / facts.minutes / 60
        for run in result.runs
        if (facts := run.facts.run).to_converge and facts.minutes and facts.minutes > 0
    ]
    if not scale or not speeds or not _accelerator(result):
        return None
    unit = result.runs[0].facts.run.unit
    return SpeedEntry(value=median(speeds) / scale, unit=unit)


def speeds(material: Material) -> dict[str, SpeedEntry]:
    """The speed of every timed result, by path, compared with peers of this and earlier rounds.

    Peers have the same benchmark, division, accelerator and number of accelerators. Distances are
    of logarithms, so that twice and half the speed are equally far.
    """
    entries: dict[str, SpeedEntry] = {}
    groups: dict[tuple[object, ...], list[tuple[str, SpeedEntry]]] = defaultdict(list)
    results_by_path = [(result.place.display_path, result) for result in material.timed()]
    for before in material.earlier:
        timed = (result for result in before.results if not result.weak)
        results_by_path += [(before.place(result.place.display_path), result) for result in timed]
    for path, result in results_by_path:
        speed = speed_of(result)
        if speed is not None:
            assert result.description is not None  # as there is a speed per accelerator
            system = letters(_accelerator(result)), result.description.accelerators
            key = (result.place.benchmark, result.division, *system, speed.unit)
            groups[key].append((path, speed))
    for group in groups.values():
        entries.update(_beside(group))
    return entries


def _accelerator(result: Result) -> str:
    return "" if result.description is None else result.description.accelerator_model_name


def _beside(group: list[tuple[str, SpeedEntry]]) -> Iterator[tuple[str, SpeedEntry]]:
    logs = [math.log(speed.value) for _, speed in group]
    if len(group) < LEAST_PEERS:
        yield from group
        return
    middle = median(logs)
    for (path, speed), z, log in zip(group, robust_z(logs, LEAST_SCATTER), logs, strict=True):
        times = math.exp(log - middle)
        yield path, msgspec.structs.replace(speed, z=z, times=times, peers=len(group) - 1)


def outlying(material: Material) -> Iterator[Finding]:
    """Results far faster or slower than others on the same number of the same accelerators."""
    entries = speeds(material)
    for result in material.timed():
        speed = entries.get(result.place.display_path)
        if speed is None or speed.z is None or speed.times is None:
            continue
        fast, times = speed.z > 0, max(speed.times, 1 / speed.times)
        if abs(speed.z) >= LEAST_Z and times >= LEAST_TIMES:
            yield (TOO_FAST if fast else TOO_SLOW).found(
                _PROFILE,
                result.place.display_path,
                speed=speed.value,
                unit=speed.unit,
                times=times,
                peers=speed.peers,
                accelerator=_accelerator(result),
                z=speed.z,
            )


LEAST_RUNS, LEAST_RUN_Z, LEAST_RUN_SHARE, RUN_SCATTER = 5, 5.0, 0.03, 0.002
"""Minimum number of runs for a usual speed, minimum deviation, and the assumed scatter."""


def outlier_runs(material: Material) -> Iterator[Finding]:
    """Runs that train at another speed than the other runs of their result."""
    for result in material.timed():
        timed = [
            (run, facts.to_converge / facts.minutes)
            for run in result.runs
            if (facts := run.facts.run).converged and facts.to_converge and facts.minutes
        ]
        if len(timed) < LEAST_RUNS:
            continue
        middle = median(speed for _, speed in timed)
        distances = robust_z([math.log(speed) for _, speed in timed], RUN_SCATTER)
        for (run, speed), z in zip(timed, distances, strict=True):
            share = speed / middle
            is_outlier = abs(z) >= LEAST_RUN_Z and abs(share - 1) >= LEAST_RUN_SHARE
            # Beyond twice the speed, the runs probably log their training in different units
            if is_outlier and 0.5 <= share <= 2:
                yield OUTLIER_RUN.found(
                    _PROFILE, run.display_path, times=share, total=len(timed), z=z
                )


# --- the reference --------------------------------------------------------------------------------


def sigmas_below(result: Result, run: Run) -> float | None:
    """The number of standard deviations by which a run converges sooner than the reference's mean.

    None if the run did not converge, or if the reference is missing or does not scatter. A run can
    only converge at an evaluation, so the deviation is at least half the interval between two.
    """
    reference, facts = result.convergence, run.facts.run
    if reference.mean is None or not reference.deviation:
        return None
    if not facts.to_converge or not facts.converged:
        return None
    deviation = max(reference.deviation, (_evaluation_interval(run) or 0.0) / 2)
    return (reference.mean - facts.to_converge) / deviation


def _evaluation_interval(run: Run) -> float | None:
    """Training between two evaluations, if they count it in the unit of convergence."""
    quality, unit = trace(run).quality, run.facts.run.unit
    if not quality.unit.startswith(unit.rstrip("s")):
        return None
    positions = sorted({point[2] for point in quality.points if point[2] is not None})
    gaps = [after - before for before, after in pairwise(positions)]
    return median(gaps) if gaps else None


def outside_band(material: Material) -> Iterator[Finding]:
    """Results with runs that converge far sooner than the reference, one finding for each."""
    for result in material.timed():
        distances = ((sigmas_below(result, run), run) for run in result.runs)
        outliers = [
            (distance, run)
            for distance, run in distances
            if distance is not None and distance > BAND
        ]
        if outliers:
            distance, run = max(outliers, key=lambda pair: pair[0])
            reference, facts = result.convergence, run.facts.run
            batch = f", at batch size {facts.batch_size:g}" if facts.batch_size else ""
            yield OUTSIDE_BAND.found(
                _PROFILE,
                run.display_path,
                samples=facts.to_converge,
                unit=facts.unit,
                distance=distance,
                mean=reference.mean,
                deviation=reference.deviation,
                batch=batch,
                count=len(outliers),
                total=len(result.runs),
            )


def margin_of(result: Result) -> float | None:
    """The margin above the minimum, as a share of the minimum; None if it is not tested."""
    reference = result.convergence
    if reference.margin is None or not reference.minimum:
        return None
    return reference.margin / reference.minimum


def ranked(material: Material) -> list[tuple[float, Result]]:
    """The tested results that pass, the closest to the minimum of the reference first.

    A result that equals the minimum is omitted: if all runs converge at one evaluation, as those
    of RetinaNet after four epochs, this is not a sign of selected runs.
    """
    tested = ((margin_of(result), result) for result in material.timed())
    passing = [(share, result) for share, result in tested if share is not None and share > EXACT]
    return sorted(passing, key=lambda pair: (pair[0], pair[1].place.display_path))


def near_misses(material: Material) -> Iterator[Finding]:
    """Results that pass the convergence test by less than one percent."""
    order = ranked(material)
    for rank, (share, result) in enumerate(order, 1):
        if share > NEAR:
            return
        reference = result.convergence
        yield NEAR_MISS.found(
            _PROFILE,
            result.place.display_path,
            samples=reference.submission,
            unit=reference.unit,
            share=share,
            minimum=reference.minimum,
            rank=rank,
            total=len(order),
        )
