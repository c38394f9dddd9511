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
    profiles_by_model: dict[str, dict[str, Profile]] = defaultdict(dict)
    devices: dict[str, None] = {}
    for device, profile in profiles:
        name = model_name(profile)
        if step_ms(profile) is None:
            raise RunFault(f"the profile of {name} on {device} has no steps of the run level")
        if device in profiles_by_model[name]:
            raise RunFault(
                f"two profiles of {name} on {device}; name the devices: NAME=profile.json"
            )
        profiles_by_model[name][device] = profile
        devices[device] = None
    gains = _advantages(profiles_by_model, [*devices])
    models = (
        _model(name, on, [*devices], gains.get(name, {})) for name, on in profiles_by_model.items()
    )
    return DeviceStudy(devices=tuple(devices), models=tuple(models))


def model_name(profile: Profile) -> str:
    """The key for comparisons between devices: benchmark, scale, precision and so on."""
    parts = [profile["benchmark"], profile["scale"], profile["precision"]]
    parts += ["compiled"] if profile["compiled"] else []
    parts += [f"{profile['ranks']} ranks"] if profile["ranks"] > 1 else []
    return " ".join(parts)


def step_ms(profile: Profile) -> float | None:
    """The median step of the run level, in milliseconds; None if it was not measured."""
    medians = (level["step_ms"] for level in profile["levels"] if level["level"] == "run")
    return next(medians, None)


def _advantages(
    profiles: Mapping[str, Mapping[str, Profile]], devices: list[str]
) -> dict[str, dict[str, float]]:
    """Step times by model and device, relative to the product of a model and a device effect.

    A time is modeled as a model's work times a device's slowness. The residuals of its logarithm,
    after subtracting the means of rows and columns, are the advantages.
    """
    whole = [name for name, on in profiles.items() if len(on) == len(devices)]
    logs = {
        name: [math.log(step_ms(profiles[name][device]) or 1) for device in devices]
        for name in whole
    }
    if not logs:
        return {}
    of_device = [
        statistics.fmean(row[column] for row in logs.values()) for column in range(len(devices))
    ]
    overall = statistics.fmean(of_device)
    return {
        name: {
            device: math.exp(statistics.fmean(row) + of_device[column] - overall - row[column])
            for column, device in enumerate(devices)
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
    counted = [operator for operator in profile["operators"] if operator["roofline"]]
    taken = sum(operator["ms"] for operator in counted)
    return (
        sum(operator["ms"] * operator["roofline"] for operator in counted) / taken
        if taken
        else None
    )
