"""Comparison of saved profiles: the speed of each model on each device, and the best matches."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.studies.study import DeviceStudy, Model, OnDevice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Profile = Mapping[str, Any]
    """A profile in the JSON format of `podium profile`."""


def compared(profiles: Iterable[tuple[str, Profile]]) -> DeviceStudy:
    """Compare profiles, each with the name of its device.

    Raises RunFault if two are of the same model on the same device, or one has no steps.
    """
    found: dict[str, dict[str, Profile]] = defaultdict(dict)
    devices: dict[str, None] = {}
    for device, profile in profiles:
        name = model_name(profile)
        if step_ms(profile) is None:
            raise RunFault(f"the profile of {name} on {device} has no steps of the run level")
        if device in found[name]:
            raise RunFault(
                f"two profiles of {name} on {device}; name the devices: NAME=profile.json"
            )
        found[name][device] = profile
        devices[device] = None
    gains = _advantages(found, [*devices])
    models = (_model(name, on, [*devices], gains.get(name, {})) for name, on in found.items())
    return DeviceStudy(devices=tuple(devices), models=tuple(models))


def model_name(profile: Profile) -> str:
    """The key for comparisons between devices: benchmark, scale, precision and so on."""
    parts = [profile["benchmark"], profile["scale"], profile["precision"]]
    parts += ["compiled"] if profile["compiled"] else []
    parts += [f"{profile['ranks']} ranks"] if profile["ranks"] > 1 else []
    return " ".join(parts)


def step_ms(profile: Profile) -> float | None:
    """The median step of the run level, in milliseconds; None if it was not measured."""
    found = (each["step_ms"] for each in profile["levels"] if each["level"] == "run")
    return next(found, None)


def _advantages(
    found: Mapping[str, Mapping[str, Profile]], devices: list[str]
) -> dict[str, dict[str, float]]:
    """Step times by model and device, relative to the product of a model and a device effect.

    A time is modeled as a model's work times a device's slowness. The residuals of its logarithm,
    after subtracting the means of rows and columns, are the advantages.
    """
    whole = [name for name, on in found.items() if len(on) == len(devices)]
    logs = {name: [math.log(step_ms(found[name][each]) or 1) for each in devices] for name in whole}
    if not logs:
        return {}
    of_device = [statistics.fmean(row[at] for row in logs.values()) for at in range(len(devices))]
    overall = statistics.fmean(of_device)
    return {
        name: {
            device: math.exp(statistics.fmean(row) + of_device[at] - overall - row[at])
            for at, device in enumerate(devices)
        }
        for name, row in logs.items()
    }


def _model(
    name: str, on: Mapping[str, Profile], devices: list[str], gains: Mapping[str, float]
) -> Model:
    times = {device: step_ms(profile) or 0.0 for device, profile in on.items()}
    slowest = max(times.values())
    cells = [
        OnDevice(
            device=device,
            step_ms=times[device],
            speedup=slowest / times[device],
            advantage=gains.get(device),
            roofline=_of_roof(on[device]),
        )
        if device in on
        else OnDevice(device=device)
        for device in devices
    ]
    return Model(
        name=name,
        on=tuple(cells),
        fastest=min(times, key=lambda device: times[device]),
        suits=max(gains, key=lambda device: gains[device]) if len(devices) > 1 and gains else None,
    )


def _of_roof(profile: Profile) -> float | None:
    """Predicted time under the roof of the operators with FLOP / their measured time."""
    counted = [each for each in profile["operators"] if each["roofline"]]
    taken = sum(each["ms"] for each in counted)
    return sum(each["ms"] * each["roofline"] for each in counted) / taken if taken else None
