"""Results that stand out among their peers: too fast, off the reference, near its minimum."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

import msgspec

from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.systems.fields import letters
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.model import SpeedEntry
from podium.compliance.tools.review.review_rules import NEAR_MISS, OUTSIDE_BAND, TOO_FAST
from podium.rules.convergence.spread import MAD_TO_DEVIATION
from podium.rules.finding import Finding, Profile


def robust_z(values: Sequence[float], least: float) -> list[float]:
    """How many deviations, as the median distance estimates them, each value is off the median.

    `least` is the smallest deviation that is assumed, in the unit of the values: equal values say
    nothing of how far apart the next one may be. Of no values there are none.
    """
    if not values:
        return []
    middle = median(values)
    distance = median([abs(value - middle) for value in values])
    deviation = max(MAD_TO_DEVIATION * distance, least)
    return [(value - middle) / deviation if deviation else 0.0 for value in values]


_PROFILE = Profile.POLICY

LEAST_PEERS, LEAST_Z, LEAST_TIMES = 5, 3.5, 1.5
"""Results that have a usual speed, and how far above it one is reported."""

BAND = 4.0
"""Standard deviations of the reference below which a run is outside of its band. Slower runs are
many, and cost nobody but the submitter anything."""

NEAR = 0.01
"""Share above the minimum within which a result is a near miss."""


LEAST_SCATTER = 0.02
"""Deviation of logarithms of speeds that is assumed at the least: 2 %."""


def speed_of(result: Result) -> SpeedEntry | None:
    """The speed of a result by the training that its converged runs did in their time."""
    described = result.description
    scale = described.accelerators if described is not None else None
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
    """The speed of every timed result, by path, beside its peers of this and earlier rounds.

    Peers have the benchmark, the division and the accelerator of a result; distances are taken of
    logarithms, so that twice as fast is as far as half as fast.
    """
    found: dict[str, SpeedEntry] = {}
    groups: dict[tuple[str, str, str, str], list[tuple[str, SpeedEntry]]] = defaultdict(list)
    placed = [(each.place.display_path, each) for each in material.timed()]
    for before in material.earlier:
        timed = (each for each in before.results if not each.weak)
        placed += [(before.place(each.place.display_path), each) for each in timed]
    for path, result in placed:
        speed = speed_of(result)
        if speed is not None:
            accelerator = letters(_accelerator(result))
            key = (result.place.benchmark, result.division, accelerator, speed.unit)
            groups[key].append((path, speed))
    for group in groups.values():
        found.update(_beside(group))
    return found


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


def too_fast(material: Material) -> Iterator[Finding]:
    """Results far faster than others on their accelerator."""
    known = speeds(material)
    for result in material.timed():
        speed = known.get(result.place.display_path)
        if speed is None or speed.z is None or speed.times is None:
            continue
        if speed.z >= LEAST_Z and speed.times >= LEAST_TIMES:
            yield TOO_FAST.found(
                _PROFILE,
                result.place.display_path,
                speed=speed.value,
                unit=speed.unit,
                times=speed.times,
                peers=speed.peers,
                accelerator=_accelerator(result),
                z=speed.z,
            )


# --- the reference --------------------------------------------------------------------------------


def sigmas_below(result: Result, run: Run) -> float | None:
    """By how many standard deviations a run converges sooner than the reference's mean.

    None where the run did not converge, and where there is no reference or it does not scatter.
    """
    reference, facts = result.convergence, run.facts.run
    if reference.mean is None or not reference.deviation:
        return None
    if not facts.to_converge or not facts.converged:
        return None
    return (reference.mean - facts.to_converge) / reference.deviation


def outside_band(material: Material) -> Iterator[Finding]:
    """Results with runs that converge far sooner than the reference, one finding for each."""
    for result in material.timed():
        distances = ((sigmas_below(result, run), run) for run in result.runs)
        far = [(each, run) for each, run in distances if each is not None and each > BAND]
        if far:
            distance, run = max(far, key=lambda each: each[0])
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
                count=len(far),
                total=len(result.runs),
            )


def margin_of(result: Result) -> float | None:
    """By which share of the minimum a result converges above it; None where it is not tested."""
    reference = result.convergence
    if reference.margin is None or not reference.minimum:
        return None
    return reference.margin / reference.minimum


def ranked(material: Material) -> list[tuple[float, Result]]:
    """The tested results that pass, the closest to the minimum of the reference first."""
    tested = ((margin_of(result), result) for result in material.timed())
    found = [(share, result) for share, result in tested if share is not None and share >= 0]
    return sorted(found, key=lambda each: (each[0], each[1].place.display_path))


def near_misses(material: Material) -> Iterator[Finding]:
    """Results that pass the test of convergence by less than a hundredth."""
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
